import { oneLine } from "../base/visible-text.ts";

/** A configuration that cannot be used. The message is one line, names file, line and key, and holds no value of a secret. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly code: "not_found" | "unreadable" | "invalid";

  constructor(code: ConfigurationError["code"], message: string, options?: ErrorOptions) {
    super(oneLine(message), options);
    this.code = code;
  }
}

/** A problem with the value at one path of the file. The message says what is wrong and what to do. */
export interface Problem {
  path: readonly PropertyKey[];
  message: string;
}
