/** Where things are inside a sandbox: the host mounts them there, the runner finds them there. */

export const SANDBOX_SOCKET_DIRECTORY = "/run/ptc";
export const SOCKET_FILE_NAME = "broker.sock";
/** The sockets that are the runner's stdout and stderr. */
export const STDOUT_FILE_NAME = "stdout.sock";
export const STDERR_FILE_NAME = "stderr.sock";
export const GUARD_PATH = "/opt/ptc/guard.pl";
export const RUNNER_PATH = "/opt/ptc/runner.mjs";
export const PYTHON_RUNNER_PATH = "/opt/ptc/python/main.py";
export const WORKSPACE = "/workspace";
/** Where the files stand that a person hands to a program. */
export const FILES_FOLDER = `${WORKSPACE}/files`;

/** Scheme of the user's own file in source maps, so that its frames are told from all others. */
export const PROGRAM_SCHEME = "program:";
