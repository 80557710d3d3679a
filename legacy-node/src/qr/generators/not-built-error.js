import { StartupError } from '../../startup-error.js';

/** What a generator needs is not there: says what, and how to build it. */
export class NotBuiltError extends StartupError {
  constructor(file, command, cause) {
    // Node's own messages go on with the modules that asked for the file.
    const why = cause ? `can't be loaded: ${cause.message.split('\n', 1)}` : 'is not there';
    super(`QR_IMPL: ${file} ${why}; build it with: ${command}`, { cause });
  }
}
