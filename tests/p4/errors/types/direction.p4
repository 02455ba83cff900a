extern void log(in string text);
