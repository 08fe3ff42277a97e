//! The cases that the exchange is judged by, one file each, named by their number: what is given, what
//! is done, what must come of it, through every door that has it.
