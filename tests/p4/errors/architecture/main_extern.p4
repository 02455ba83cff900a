extern E {
    E();
}

E() main;
