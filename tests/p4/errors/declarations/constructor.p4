extern e {
    void e();
}
