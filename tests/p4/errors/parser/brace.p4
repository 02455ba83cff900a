control c() {
    apply {
}
