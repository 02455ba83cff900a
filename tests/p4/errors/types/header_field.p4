header h_t {
    error e;
}
