extern e<T, T> {
    e();
}
