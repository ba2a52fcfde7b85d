import type { Viewer } from "../broker/policy/authorizer.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { DirectTools } from "./direct-tools.ts";
import type { ExposedProgram } from "./exposed-programs.ts";

/**
 * A catalog that changes while it is used: servers list other tools, and are listed for the first time. It is what a client
 * looks at, so it gives out views only: what a client is not shown, no answer to it can hold. `HostCatalog` has every tool.
 */
export interface LiveCatalog {
  /** The tools that programs of somebody's can call just now. */
  current(viewer: Viewer): Promise<ToolCatalog>;
  /** The saved programs that are tools. If absent, there are none. */
  exposed?(viewer: Viewer): Promise<readonly ExposedProgram[]>;
  /** The direct tools as they are now. If absent, there are none. */
  direct?(viewer: Viewer): Promise<DirectTools>;
  /** Calls the listener when the set of servers, or of such programs, has changed. */
  onServersChanged(listener: () => void): void;
}
