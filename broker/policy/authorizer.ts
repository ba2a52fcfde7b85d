import type { Tool } from "../../catalog/tool.ts";
import { type Identified, owns, type RunContext } from "../../protocol/run-context.ts";
import { decide, type Policy } from "./policy.ts";
import type { RunHistory } from "./run-history.ts";

/** The principal who looks for tools before any program runs. */
export type Viewer = Identified & Pick<RunContext, "session">;

/** Whose something is. `groups` are those of the login that it came with, where they are known. */
export type Owner = Identified;

/** What somebody wants to have that may be another's. */
export type Access =
  /** A run with all that it gave out, or its replay. */
  | { readonly action: "read_runs"; readonly of: Owner }
  /** The question of a run about a call, and an answer to it. */
  | { readonly action: "approve"; readonly of: Owner; readonly tool: string; readonly server: string }
  /** The audit log, with the lines of everybody. */
  | { readonly action: "audit" };

/** On what a decision is based, for those who look back. Neither holds arguments or secrets. */
export interface DecisionGround {
  /** What decided: an entry of `ptc.yaml`, a rule by its place, or a check. Absent if nothing applies to the call. */
  readonly rule?: string | undefined;
  /** Why, in one line. */
  readonly reason?: string | undefined;
}

export type Decision = DecisionGround &
  (
    | { readonly kind: "allow" }
    /** The call needs a person's approval. `reviewer`: the check that may answer in the place of a person. */
    | { readonly kind: "ask"; readonly reviewer?: string | undefined }
    /** The program is told that the tool does not exist, and the reason if the author of a rule wrote one for it. */
    | { readonly kind: "unavailable"; readonly isTold?: boolean }
    /** The program is told the reason: one line, phrased to follow "was not called:". */
    | { readonly kind: "deny"; readonly reason: string }
  );

/**
 * Decides who may call which tool with which arguments. If deciding fails, the call is denied and its run continues.
 */
export interface Authorizer {
  /**
   * Decides about one call, before anything else is done for it.
   *
   * @param args what the program sent, not yet checked against the tool's schema.
   * @param run what the run has done before this call.
   * @throws Error if it cannot decide. The program sees the message, so it must not contain secrets of the authorizer.
   */
  authorize(context: RunContext, tool: Tool, args: unknown, run: RunHistory): Promise<Decision>;
  /**
   * Whether a viewer finds the tool and gets it in a typed module. `authorize` must also refuse a hidden tool, because a
   * program can call any name.
   */
  isVisible(viewer: Viewer, tool: Tool): boolean;
  /**
   * Whether a viewer may know that there is a server of this module, or this tool of it. What they may not know of is as what does not
   * exist, whatever asks for it. If absent, they may know of everything.
   */
  isKnown?(viewer: Viewer, module: string, tool?: Tool): boolean;
  /** Why a tool is hidden, if the author of a rule wrote a reason to be shown. */
  whyHidden?(viewer: Viewer, tool: Tool): string | undefined;
  /**
   * The groups that rules name and that no configuration defines, so that only a login says who is in them. They bind who has come without
   * a login (`boundGroups`), of whom nobody knows whether they are in one.
   */
  groupsOfLogins?(): readonly string[] | Promise<readonly string[]>;
  /** Decides about what is another's, or everybody's. If absent, nobody may have it. Never throws. */
  decideAccess?(viewer: Viewer, access: Access): Pick<Decision, "kind" | "rule" | "reason">;
}

/**
 * Decides whether somebody may have something, as `mayAccess` does by the rules as they are now.
 *
 * @param runId the run that is handed out, where it is more than a line in a list: the audit log notes that of another's.
 */
export type AccessGate = (viewer: Viewer, access: Access, runId?: string) => Promise<boolean>;

/**
 * Whether somebody may have something that may be another's. Runs and questions of one's own need no rule; anything else needs one
 * that permits it. Every tool, endpoint and command that serves a principal asks this.
 */
export function mayAccess(
  authorizer: Pick<Authorizer, "decideAccess">,
  viewer: Viewer,
  access: Access,
): boolean {
  if (access.action !== "audit" && owns(viewer, access.of)) return true;
  return authorizer.decideAccess?.(viewer, access).kind === "allow";
}

/** Decides by the lists of `ptc.yaml`, which are the same for every principal. */
export class PolicyAuthorizer implements Authorizer {
  readonly #policy: Policy;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  async authorize(_context: RunContext, tool: Tool): Promise<Decision> {
    return decide(this.#policy, tool);
  }

  isVisible(_viewer: Viewer, tool: Tool): boolean {
    return decide(this.#policy, tool).kind !== "unavailable";
  }
}
