/** The program can't start; the message is one line with the reason. */
export class StartupError extends Error {}
