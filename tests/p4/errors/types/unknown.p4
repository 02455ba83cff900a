struct s {
    byte a;
}
