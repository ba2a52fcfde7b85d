/**
 * How ptc and the launcher of a pod (runner-image/launcher/launcher.ts) speak to each other: over one stream, which is TLS with a
 * certificate on either side, or what a process that is executed in the pod reads and writes.
 *
 * The launcher sends a preface first, one line: the UID of its pod, so that an address which has gone to another pod is noticed.
 * All that follows are the frames of an attached guard (guard.ts) in both directions, of which those of the channel are the
 * launcher's own, and one more: how the guard has ended.
 */

/** The letter of the last frame, whose number is the guard's exit code. It has no payload. */
export const LAUNCHER_EXIT = "x";

/** The port on which the launcher takes its only connection. */
export const LAUNCHER_PORT = 7411;

/** The abstract Unix socket that a relay (runner-image/relay.pl) in the same pod connects to instead, without the zero byte. */
export const LAUNCHER_SOCKET = "ptc-launcher";

/** The most bytes of the preface. */
export const MAX_PREFACE_BYTES = 128;

/** The folder with `ca.crt`, `tls.crt` and `tls.key`, for launchers that take connections over the network. */
export const LAUNCHER_CERTIFICATES = "/run/ptc";

/** The name that a launcher's certificate is for. */
export const LAUNCHER_NAME = "ptc-program";

/** The variable of the launcher's environment that has its pod's UID. */
export const LAUNCHER_POD_VARIABLE = "PTC_POD_UID";

/** Between the variables of the guard's environment and its command line, in the launcher's arguments. */
export const LAUNCHER_COMMAND_MARK = "--";

/** Where the image has them. */
export const LAUNCHER_PATH = "/opt/ptc/launcher.mjs";
export const RELAY_PATH = "/opt/ptc/relay.pl";

/** ptc says something at least this often. The launcher ends when it has heard nothing for much longer. */
export const LAUNCHER_BEAT_MS = 10_000;
export const LAUNCHER_PATIENCE_MS = 90_000;
