/**
 * Why a program cannot be run, as data, for code that adds advice to the failure's message. It is not part of the envelope,
 * which carries only the message.
 */
export type FailureReason =
  /** The program's text cannot be bundled. */
  | { code: "invalid_text" }
  /** It could not be bundled in time, which a machine with less to do may manage. */
  | { code: "out_of_time" }
  | { code: "top_level_return" }
  /** It looks like a program in another language, of this name. */
  | { code: "other_language"; language: string }
  /** It imports the module of a server that does not exist or has no module. */
  | { code: "unknown_server"; module: string }
  /** It imports something other than a server's module or a module of Node.js. */
  | { code: "unknown_import"; path: string }
  /** It imports a name that the server's module does not export. */
  | { code: "unknown_export"; module: string; name: string }
  /** It imports a server's module that is missing or was edited. */
  | { code: "missing_module"; module: string }
  /** It imports a server's module that cannot be bundled. */
  | { code: "broken_module"; module: string };
