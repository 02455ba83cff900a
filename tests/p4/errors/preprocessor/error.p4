#ifndef WIDTH
#error WIDTH must be defined
#endif
