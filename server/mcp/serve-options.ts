import type { Readable, Writable } from "node:stream";
import type { LiveCatalog } from "../../host/tools/live-catalog.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { ProgramsOptions } from "./programs/programs.ts";
import type { OutputSource } from "./tools/read-output.ts";

export interface ServeOptions extends Omit<ProgramsOptions, "known"> {
  /** Is told of the client's requests. */
  telemetry?: Telemetry | undefined;
  version: string;
  catalog: LiveCatalog;
  /** Has the outputs of runs that were too long to show. */
  outputs: OutputSource;
  stdin: Readable;
  stdout: Writable;
  /** Why no program can run in a session of this name just now; `undefined` when one can. Without it, there are none. */
  whyNoSession?: ((name: string) => string | undefined) | undefined;
  /** Why a value is not what a schema allows, in one line; without it, nothing is known to be allowed. */
  checkValue?: ((schema: unknown, value: unknown) => Promise<string | undefined>) | undefined;
  /** A line that every reply is to tell just now; `undefined` when there is none. */
  notice?: () => string | undefined;
  /** Is called when the client's first requests are answered; may be called more than once. */
  onReady?: () => void;
  /** Receives what goes wrong on the connection. The server goes on. */
  onWarning: (message: string) => void;
}
