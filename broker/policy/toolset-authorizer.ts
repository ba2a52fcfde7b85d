import type { Tool } from "../../catalog/tool.ts";
import type { Identified, RunContext } from "../../protocol/run-context.ts";
import { matchesPattern, mayMatchModule } from "../../protocol/tool-names.ts";
import type { Access, Authorizer, Decision, Viewer } from "./authorizer.ts";
import type { RunHistory } from "./run-history.ts";

/** The patterns of the tools in each toolset, by its name. */
export type Toolsets = Readonly<Record<string, readonly string[]>>;

/**
 * Narrows what another authorizer decides to the toolsets of whoever asks. A tool that is not in each of them is as one that does not
 * exist, and so is every tool for a toolset that is not configured.
 */
export class ToolsetAuthorizer implements Authorizer {
  readonly #within: Authorizer;
  readonly #toolsets: Toolsets;

  constructor(within: Authorizer, toolsets: Toolsets) {
    this.#within = within;
    this.#toolsets = toolsets;
  }

  async authorize(context: RunContext, tool: Tool, args: unknown, run: RunHistory): Promise<Decision> {
    const missing = this.#missing(context, tool);
    if (missing !== undefined) return { kind: "unavailable", rule: `toolsets.${missing}` };
    return this.#within.authorize(context, tool, args, run);
  }

  isVisible(viewer: Viewer, tool: Tool): boolean {
    return this.#missing(viewer, tool) === undefined && this.#within.isVisible(viewer, tool);
  }

  isKnown(viewer: Viewer, module: string, tool?: Tool): boolean {
    const { toolsets = [] } = viewer;
    if (!toolsets.every((name) => this.#patternsOf(name).some((each) => mayMatchModule(each, module))))
      return false;
    if (tool !== undefined && this.#missing(viewer, tool) !== undefined) return false;
    return this.#within.isKnown?.(viewer, module, tool) !== false;
  }

  whyHidden(viewer: Viewer, tool: Tool): string | undefined {
    if (this.#missing(viewer, tool) !== undefined) return undefined;
    return this.#within.whyHidden?.(viewer, tool);
  }

  async groupsOfLogins(): Promise<readonly string[]> {
    return (await this.#within.groupsOfLogins?.()) ?? [];
  }

  decideAccess(viewer: Viewer, access: Access) {
    return this.#within.decideAccess?.(viewer, access) ?? { kind: "deny" as const };
  }

  /** The first toolset of somebody that does not have a tool. */
  #missing({ toolsets = [] }: Identified, { namespacedName }: Tool): string | undefined {
    return toolsets.find(
      (name) => !this.#patternsOf(name).some((each) => matchesPattern(each, namespacedName)),
    );
  }

  #patternsOf(toolset: string): readonly string[] {
    return (Object.hasOwn(this.#toolsets, toolset) ? this.#toolsets[toolset] : undefined) ?? [];
  }
}
