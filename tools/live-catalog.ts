import type { Viewer } from "../broker/policy/authorizer.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { ServerNotice } from "../upstream/upstream.ts";
import type { DirectTools } from "./direct-tools.ts";
import type { ExposedProgram } from "./exposed-programs.ts";

/** What a server says unasked, about what it offers beside tools. */
export type HeardNotice = ServerNotice;

/**
 * A catalog that changes while it is used: servers change their tools, or are listed for the first time. Clients read this catalog,
 * so it returns only views. An answer to a client can never hold a tool that the client may not see. `HostCatalog` has every tool.
 */
export interface LiveCatalog {
  /** The tools that a viewer's programs can call now. */
  current(viewer: Viewer): Promise<ToolCatalog>;
  /** The saved programs that are tools. If absent, there are none. */
  exposed?(viewer: Viewer): Promise<readonly ExposedProgram[]>;
  /** The direct tools as they are now. If absent, there are none. */
  direct?(viewer: Viewer): Promise<DirectTools>;
  /** Calls the listener with what servers say unasked. If absent, they say nothing. @param principal `undefined` for everybody. */
  onNotice?(listener: (module: string, principal: string | undefined, notice: HeardNotice) => void): void;
  /** Calls the listener when the set of servers or of exposed programs has changed. */
  onServersChanged(listener: () => void): void;
}
