/** The program can't start; the message is the one line that says why. */
export class StartupError extends Error {}
