/**
 * Checks the options of the embedding program, because plain JavaScript has no types that would. Without this check, ptc would ignore
 * a misspelled option, such as the principal, and a program would run on behalf of somebody else.
 */

import { isBuiltin } from "node:module";
import { isObject } from "../base/json.ts";
import { visibleLine } from "../base/visible-text.ts";
import { approvableCalls, keepableCalls, planAnswer } from "../broker/approvals/approval-scope.ts";
import type { ApprovalAnswer as GivenAnswer } from "../broker/approvals/approvals.ts";
import { LATER } from "../broker/approvals/approvals.ts";
import type { Plan } from "../broker/approvals/plan.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import { localPrincipal } from "../system/local-actor.ts";
import {
  type ApprovalAnswer,
  type CallOptions,
  type PlanOptions,
  type Principal,
  PtcError,
  type PtcOptions,
  type RunOptions,
} from "./api.ts";

/** The kind of value that an option needs, as far as it is checked here. */
type Kind = "any" | "function" | "mapping";
type Kinds<Options> = Readonly<Record<keyof Options, Kind>>;

const CALL: Kinds<CallOptions> = {
  principal: "any",
  approve: "function",
  onElicit: "function",
  onEvent: "function",
  conversation: "any",
  said: "any",
  signal: "any",
  traceparent: "any",
};
const KNOWN = {
  createPtc: {
    config: "any",
    tools: "mapping",
    cwd: "any",
    env: "mapping",
    onWarning: "function",
    principal: CALL.principal,
    approve: CALL.approve,
    onElicit: CALL.onElicit,
  } satisfies Kinds<PtcOptions>,
  run: {
    ...CALL,
    data: "any",
    language: "any",
    timeoutMs: "any",
    typecheck: "any",
    session: "any",
  } satisfies Kinds<RunOptions>,
  plan: {
    principal: CALL.principal,
    conversation: CALL.conversation,
    said: CALL.said,
    signal: CALL.signal,
    traceparent: CALL.traceparent,
    data: "any",
    language: "any",
    timeoutMs: "any",
    typecheck: "any",
  } satisfies Kinds<PlanOptions>,
  resume: { ...CALL, answer: "mapping" } satisfies Kinds<CallOptions & { answer?: ApprovalAnswer }>,
  tools: CALL,
};

/**
 * Refuses a Node.js that lacks what ptc uses, as the command does (`cli/ptc.js`), before something fails with an unrelated error.
 *
 * @throws PtcError
 */
export function checkNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < 22 || (major === 22 && minor < 13);
  if (!isOld && isBuiltin("node:sqlite")) return;
  const lack = isOld ? "" : ", without node:sqlite";
  throw invalid(
    `needs Node.js 22.13 or newer, and this is ${process.version}${lack} (${process.execPath}): install a current one from https://nodejs.org/`,
  );
}

/** Refuses unknown options, and callbacks that are not functions. @throws PtcError */
export function checkOptions(of: keyof typeof KNOWN, options: object): void {
  const kinds: Readonly<Record<string, Kind>> = KNOWN[of];
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) throw unknownOption(of, name, Object.keys(kinds));
    if (value === undefined) continue;
    if (kind === "function" && typeof value !== "function")
      throw invalid(`${of}: ${name} must be a function`);
    if (kind === "mapping" && !isObject(value)) throw invalid(`${of}: ${name} must be an object`);
  }
}

function unknownOption(of: string, name: string, known: readonly string[]): PtcError {
  const [nearest] = similarNames(name, known, 1);
  const advice = nearest === undefined ? `it has ${known.join(", ")}` : `did you mean '${nearest}'?`;
  return invalid(`${of} has no option '${visibleLine(name).slice(0, 80)}'; ${advice}`);
}

/** The principal of an option; by default the user who started this process. @throws PtcError for an empty subject. */
export function principalOf(principal: Principal = localPrincipal()): Viewer {
  const { subject, groups }: { subject: unknown; groups?: unknown } =
    typeof principal === "string" ? { subject: principal } : Object(principal);
  if (typeof subject !== "string" || subject === "")
    throw invalid("principal must be a text that is not empty, or { subject, groups } with such a subject");
  if (groups === undefined) return { principal: subject };
  if (!Array.isArray(groups) || !groups.every((each) => typeof each === "string"))
    throw invalid("principal.groups must be a list of texts");
  return { principal: subject, groups: [...groups] };
}

const HOW = "a function of the program that ptc is a library of";

/** An answer of `approve`, or to a ticket. @param plan the plan of the question. @throws PtcError for an answer that says neither yes nor no. */
export function readAnswer(answer: ApprovalAnswer | "later", plan: Plan | undefined): GivenAnswer {
  if (answer === "later") return LATER;
  if (!isObject(answer) || typeof answer.allow !== "boolean")
    throw invalid('an answer must be { allow: true }, { allow: false, reason }, or "later"');
  const { allow, for: scope = "call", calls, keep, atMost, by = "approve", reason } = answer;
  const why = reason === undefined ? "was declined" : `was declined: ${reason}`;
  if (scope === "plan" || calls !== undefined || keep !== undefined) {
    const named = calls === undefined ? "keep" : "calls";
    if (scope !== "plan") throw invalid(`\`${named}\` of an answer goes with \`for: "plan"\``);
    if (plan === undefined && (calls ?? keep) !== undefined)
      throw invalid(`\`${named}\` of an answer goes with a question that has a plan`);
    if (plan === undefined)
      return allow ? { decision: "once", by, how: HOW } : { decision: "denied", by, how: HOW, why };
    const approvable = approvableCalls(plan);
    const chosen = allow ? (calls ?? approvable) : [];
    if (!Array.isArray(chosen) || !chosen.every((each) => approvable.includes(each)))
      throw invalid(
        `the \`calls\` of an answer must be among those that can be approved: ${approvable.join(", ")}`,
      );
    const [kept, keepable] = [allow ? (keep ?? []) : [], keepableCalls(plan)];
    if (!Array.isArray(kept) || !kept.every((each) => keepable.includes(each)))
      throw invalid(
        `the \`keep\` of an answer must be among those that can be kept: ${keepable.join(", ") || "none"}`,
      );
    return { ...planAnswer(plan, { calls: chosen, kept }), by, how: HOW, ...(allow ? {} : { why }) };
  }
  if (!allow) return { decision: "denied", by, how: HOW, why };
  if (scope === "call") return { decision: "once", by, how: HOW };
  if (scope !== "run") throw invalid('the `for` of an answer must be "call", "run" or "plan"');
  return { decision: "run", by, how: HOW, ...(atMost === undefined ? {} : { atMost }) };
}

function invalid(message: string): PtcError {
  return new PtcError("invalid", message);
}
