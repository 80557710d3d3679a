import { StartupError } from '../../startup-error.js';

/** A generator's file is missing or broken; the message has the file and the command to build it. */
export class NotBuiltError extends StartupError {
  constructor(file, command, cause) {
    // After its first line, Node's message lists the modules that required the file.
    const why = cause ? `can't be loaded: ${cause.message.split('\n', 1)}` : 'is not there';
    super(`QR_IMPL: ${file} ${why}; build it with: ${command}`, { cause });
  }
}
