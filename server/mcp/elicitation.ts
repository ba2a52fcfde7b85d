import { isObject } from "../../base/json.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { renderApprovalOverview } from "../../broker/approvals/approval-overview.ts";
import {
  type ApprovalScope,
  DEFAULT_AT_MOST,
  MAX_AT_MOST,
  parseScope,
  planAnswer,
  readChosen,
} from "../../broker/approvals/approval-scope.ts";
import {
  isPlanQuestion,
  renderAskedArguments,
  renderClaims,
  renderOrigins,
  renderPlan,
  renderPlanNotes,
  summarizePlan,
} from "../../broker/approvals/approval-text.ts";
import { type ApprovalAnswer, type ApprovalRequest, LATER } from "../../broker/approvals/approvals.ts";
import { MAX_PATTERN_CHARS } from "../../broker/approvals/argument-pattern.ts";
import type { Plan } from "../../broker/approvals/plan.ts";
import type {
  ElicitationAnswer,
  ElicitationRequest,
  FormField,
  FormOption,
} from "../../broker/elicitation/elicitation.ts";
import { readFormValues } from "../../broker/elicitation/form-values.ts";
import {
  parseSampled,
  type SamplingAnswer,
  type SamplingRequest,
} from "../../broker/elicitation/sampling.ts";

/**
 * Questions to a person at an MCP client (MCP 2025-11-25, Elicitation): what a client declares that it can show, the forms and URLs
 * that it receives, and how its answers are read. There are two kinds of question: ptc's own about a call, and a server's in the
 * middle of a call. A client of 2025-11-25 is asked while its request waits. A client of 2026-07-28 gets the question as the result
 * of its request. The forms are the same.
 */

/** A question that waits for an answer: ptc's own about a call or a server's, of a person; or a server's, of the client's model. */
export type Question =
  | ({ kind: "approval"; request: ApprovalRequest } & OpenQuestion<ApprovalAnswer>)
  | ({ kind: "elicitation"; elicitation: ElicitationRequest } & OpenQuestion<ElicitationAnswer>)
  | ({ kind: "sampling"; request: SamplingRequest } & OpenQuestion<SamplingAnswer>);

/** A question for a person. */
export type PersonalQuestion = Exclude<Question, { kind: "sampling" }>;

export interface OpenQuestion<Answer> {
  /** Aborted when the answer is no longer needed, because the call or the program has ended. */
  withdrawn: AbortSignal;
  answer(answer: Answer): void;
}

/** The parameters for a client that asks a person. A client that cannot open URLs shows them in the text of a form. */
export function buildElicitation(question: PersonalQuestion, canVisit: boolean) {
  if (question.kind === "approval") return buildApprovalForm(question.request);
  const { elicitation } = question;
  return elicitation.mode === "url" && canVisit ? buildVisit(elicitation) : buildElicitationForm(elicitation);
}

/** The answer to a question of a kind. */
export type AnswerTo<Q extends Question> = Parameters<Q["answer"]>[0];

/** Asks a person. Rejects when nobody can be asked. */
export type AskPerson = <Q extends Question>(question: Q, signal: AbortSignal) => Promise<AnswerTo<Q>>;

/** Gives a question its answer. */
export function giveAnswer<Q extends Question>(question: Q, answer: AnswerTo<Q>): void {
  (question.answer as (answer: AnswerTo<Q>) => void)(answer);
}

/** Reads what a client has answered to a question. */
export function readAnswer<Q extends Question>(
  question: Q,
  response: unknown,
  client: ClientClaim | undefined,
): AnswerTo<Q> {
  return answerIn(question, response, client) as AnswerTo<Q>;
}

function answerIn(question: Question, response: unknown, client: ClientClaim | undefined) {
  switch (question.kind) {
    case "approval":
      return parseApprovalAnswer(response, question.request, client);
    case "elicitation":
      return parseElicitationAnswer(question.elicitation, response);
    case "sampling":
      return parseSampled(response);
  }
}

const MAX_CLIENT_CHARS = 80;

/** The name and version that a client claims (MCP, Implementation). */
export interface ClientClaim {
  name: string;
  version: string;
}

/** A client's claim with bounded texts; `undefined` if the client makes none. */
export function claimOf(implementation: unknown): ClientClaim | undefined {
  if (!isObject(implementation)) return undefined;
  const { name, version } = implementation;
  const bounded = (text: unknown) => (typeof text === "string" ? text.slice(0, MAX_CLIENT_CHARS) : "");
  return { name: bounded(name), version: bounded(version) };
}

/** Whether a client's model answers servers (MCP 2025-11-25, Sampling: Capabilities). */
export function canSample(capabilities: unknown): boolean {
  return isObject(capabilities) && isObject(capabilities.sampling);
}

/** Whether a client can let a person open a URL. */
export function canShowUrl(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  return isObject(elicitation) && isObject(elicitation.url);
}

/** Whether a client can show forms. One that names no elicitation mode can (MCP 2025-11-25, Elicitation: Capabilities). */
export function canShowForm(capabilities: unknown): boolean {
  if (typeof capabilities !== "object" || capabilities === null) return false;
  const { elicitation } = capabilities as { elicitation?: unknown };
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}

/** The approver that is recorded for an answer that came from the client. */
const BY = "elicitation";

const SCOPES = {
  decision: {
    type: "string" as const,
    title: "What to allow",
    oneOf: [
      { const: "once", title: "Yes, this call" },
      { const: "run", title: "Calls of this tool by this program" },
      { const: "like", title: "Calls of this tool with the same arguments by this program" },
      { const: "no", title: "No" },
    ],
    default: "once",
  },
  at_most: {
    type: "integer" as const,
    title: "How many calls, where more than this one is allowed",
    minimum: 1,
    maximum: MAX_AT_MOST,
    default: DEFAULT_AT_MOST,
  },
  may_differ: {
    type: "string" as const,
    title: "With the same arguments: those that may differ, as name=pattern, such as path=/tmp/* mode=*",
    maxLength: MAX_PATTERN_CHARS,
  },
};

/**
 * The form that a client shows a person: the parameters of `elicitation/create` (MCP 2025-11-25, Elicitation). Its first lines hold
 * the whole question. The details of `ptc approvals show` follow, as far as a dialog can show them. The first question about a tool
 * has no field, so that Claude Code puts its cursor on Accept, and one Enter allows the shown call and nothing else. When a program
 * asks for the same tool again, or after the run was suspended, the person can allow further calls as well.
 */
export function buildApprovalForm(request: ApprovalRequest) {
  return isPlanQuestion(request.plan) ? buildPlanForm(request, request.plan) : buildCallForm(request);
}

const CHOSEN_CALLS = {
  calls: {
    type: "string" as const,
    title: "Which calls: all, or numbers such as 1-4,6",
    default: "all",
    maxLength: MAX_PATTERN_CHARS,
  },
};

/** The form of a question about a plan. Its first line says how many calls of which tools there are. */
function buildPlanForm({ reason, differs, ticket }: ApprovalRequest, plan: Plan) {
  const lines = [
    `Allow ${summarizePlan(plan)}?`,
    ...(differs === undefined ? [] : [`It is not what was approved: ${unmistakableLine(differs)}`]),
    ...renderPlan(plan),
    ...renderPlanNotes(plan),
    ...(reason === undefined ? [] : [`1. is asked because ${unmistakableLine(reason)}`]),
    ...(ticket === undefined ? [] : [`All of it: \`ptc approvals show ${ticket}\``]),
  ];
  return {
    mode: "form" as const,
    message: lines.join("\n"),
    requestedSchema: { type: "object" as const, properties: CHOSEN_CALLS },
  };
}

function buildCallForm({
  tool,
  arguments: args,
  isAgain = false,
  reason,
  origins = [],
  claims,
  ticket,
  plan,
  differs,
}: ApprovalRequest) {
  const claimed = renderClaims(claims);
  const { lines, isCut } = renderApprovalOverview(
    tool,
    args,
    [claimed, reason, plan, differs].some((each) => each !== undefined) || origins.length > 0,
  );
  const { text, rest } = renderAskedArguments(args, ticket);
  const inFull = ["", `A program wants to call ${unmistakableLine(tool)} with`, text];
  const below = [
    ...(differs === undefined ? [] : [`It is not what was approved: ${unmistakableLine(differs)}`]),
    ...(plan === undefined ? [] : renderPlanNotes(plan)),
    ...(reason === undefined ? [] : [`Asked because ${unmistakableLine(reason)}`]),
    ...renderOrigins(origins),
    ...(isCut ? inFull : []),
    ...(rest === undefined ? [] : [rest]),
    ...(claimed === undefined ? [] : ["", claimed.heading, ...claimed.said.map((line) => `> ${line}`)]),
  ];
  return {
    mode: "form" as const,
    message: [...lines, ...below].join("\n"),
    requestedSchema: {
      type: "object" as const,
      properties: isAgain ? SCOPES : {},
    },
  };
}

/**
 * Reads a client's answer to such a form. Accepting without a decision means the form's default. A scope that cannot be read, or
 * that the form did not offer, allows only this call. A dismissed form (`cancel`) decides nothing: clients dismiss forms when nobody
 * is present, as Claude Code does at once with `-p`, and a person may answer later. Any other answer is a denial, attributed to the
 * client, because the protocol does not say whether a person saw the form.
 *
 * @param request the request from which the form was built.
 * @param client the client's claim, for the audit log.
 */
export function parseApprovalAnswer(
  response: unknown,
  { arguments: args, isAgain = false, plan }: Pick<ApprovalRequest, "arguments" | "isAgain" | "plan">,
  client?: ClientClaim,
): ApprovalAnswer {
  if (isObject(response) && response.action === "cancel")
    return { ...LATER, why: "the client dismissed the question without an answer" };
  const scope = isPlanQuestion(plan) ? readPlanScope(response, plan) : readScope(response, args, isAgain);
  const said = scope.decision === "denied" ? { why: "was declined by the client" } : {};
  return { ...scope, ...said, by: BY, how: describeWay(client) };
}

/** Which calls of a plan are approved. What cannot be read approves nothing. */
function readPlanScope(response: unknown, plan: Plan): ApprovalScope {
  const none = planAnswer(plan, { calls: [] });
  if (!isObject(response)) return none;
  const { action, content = {} } = response;
  if (action !== "accept" || !isObject(content)) return none;
  const { calls = CHOSEN_CALLS.calls.default } = content;
  const chosen = typeof calls === "string" ? readChosen(calls, plan) : undefined;
  return chosen === undefined ? none : planAnswer(plan, chosen);
}

function readScope(response: unknown, args: unknown, isAgain: boolean): ApprovalScope {
  if (!isObject(response)) return { decision: "denied" };
  const { action, content = {} } = response;
  if (action !== "accept" || !isObject(content)) return { decision: "denied" };
  switch (content.decision ?? SCOPES.decision.default) {
    case "once":
      return { decision: "once" };
    case "run":
      return isAgain ? scopeOr("all", content, args) : { decision: "once" };
    case "like":
      return isAgain ? scopeOr("like", content, args) : { decision: "once" };
    default:
      return { decision: "denied" };
  }
}

function scopeOr(
  calls: "all" | "like",
  { at_most, may_differ = "" }: Readonly<Record<string, unknown>>,
  args: unknown,
): ApprovalScope {
  const isReadable =
    typeof may_differ === "string" &&
    may_differ.length <= MAX_PATTERN_CHARS &&
    (at_most === undefined || typeof at_most === "number") &&
    // A person who names an argument that may differ does not want all arguments to differ.
    (calls === "like" || may_differ === "");
  const except = typeof may_differ === "string" && may_differ !== "" ? splitPatterns(may_differ, args) : [];
  const read = parseScope({ calls, except, atMost: at_most }, args);
  return isReadable && read.ok ? read.scope : { decision: "once" };
}

/** Splits before each name of an argument, since a pattern may hold spaces. */
function splitPatterns(text: string, args: unknown): string[] {
  const names = typeof args === "object" && args !== null ? Object.keys(args) : [];
  const patterns: string[] = [];
  for (const word of text.trim().split(/ +/)) {
    const last = patterns.length - 1;
    if (last < 0 || names.some((name) => word.startsWith(`${name}=`))) patterns.push(word);
    else patterns[last] += ` ${word}`;
  }
  return patterns;
}

/** Describes how the answer came. The protocol does not say who answers a form. */
function describeWay(client: ClientClaim | undefined): string {
  const who =
    client === undefined
      ? "a client without a name"
      : `a client that calls itself ${client.name} ${client.version}`;
  return `MCP elicitation by ${unmistakableLine(who)}; a person, or a hook of the client`;
}

/**
 * The form for a server's question (MCP 2025-11-25, Elicitation). Its first line says in ptc's own words who asks. Each line of the
 * server's text is marked, so that it cannot pass for ptc's.
 */
function buildElicitationForm(elicitation: ElicitationRequest) {
  const form = { mode: "form" as const, message: renderElicitation(elicitation) };
  const fields = elicitation.mode === "form" ? elicitation.fields : [];
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const properties = Object.fromEntries(fields.map((field) => [field.name, buildProperty(field)]));
  return {
    ...form,
    requestedSchema: {
      type: "object" as const,
      properties,
      ...(required.length === 0 ? {} : { required }),
    },
  };
}

/** The parameters for a client that lets a person open the server's URL. */
function buildVisit(elicitation: Extract<ElicitationRequest, { mode: "url" }>) {
  return { mode: "url" as const, message: renderElicitation(elicitation), url: elicitation.url };
}

/** Reads a client's answer. An answer that does not fit the form is not passed on. */
function parseElicitationAnswer(elicitation: ElicitationRequest, response: unknown): ElicitationAnswer {
  if (typeof response !== "object" || response === null) return { action: "unasked", why: NO_ANSWER };
  const { action, content } = response as { action?: unknown; content?: unknown };
  switch (action) {
    case "decline":
    case "cancel":
      return { action };
    case "accept": {
      if (elicitation.mode === "url") return { action, values: {} };
      const given = typeof content === "object" && content !== null ? { ...content } : {};
      const read = readFormValues(elicitation.fields, given);
      if (read.ok) return { action, values: read.values };
      return {
        action: "unasked",
        why: `the client's answer does not fit the form: ${visibleLine(read.problem)}`,
      };
    }
    default:
      return { action: "unasked", why: NO_ANSWER };
  }
}

const NO_ANSWER = "the client's answer is not valid";

function renderElicitation(elicitation: ElicitationRequest): string {
  const { server, tool, message } = elicitation;
  const what = elicitation.mode === "form" ? "asks" : `asks you to visit ${visibleLine(elicitation.host)}`;
  const during = tool === undefined ? "during a call" : `during a call of ${visibleLine(tool)}`;
  const said = message === "" ? [] : message.split("\n").map((line) => `> ${line}`);
  const address = elicitation.mode === "url" ? [`Address: ${visibleLine(elicitation.url)}`] : [];
  return [`Server '${visibleLine(server)}' ${what}, ${during}:`, ...said, ...address].join("\n");
}

function buildProperty(field: FormField) {
  const { title, description } = field;
  const texts = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
  switch (field.kind) {
    case "text": {
      const { minLength, maxLength, format, byDefault } = field;
      return {
        type: "string" as const,
        ...texts,
        ...known({ minLength, maxLength, format, default: byDefault }),
      };
    }
    case "number": {
      const { isInteger, minimum, maximum, byDefault } = field;
      const type = isInteger ? ("integer" as const) : ("number" as const);
      return { type, ...texts, ...known({ minimum, maximum, default: byDefault }) };
    }
    case "boolean":
      return { type: "boolean" as const, ...texts, ...known({ default: field.byDefault }) };
    case "choice":
      return {
        type: "string" as const,
        ...texts,
        ...choiceOf(field.options, "oneOf"),
        ...known({ default: field.byDefault }),
      };
    case "choices": {
      const { minItems, maxItems, byDefault } = field;
      const items = choiceOf(field.options, "anyOf");
      const given = byDefault === undefined ? undefined : [...byDefault];
      return { type: "array" as const, ...texts, items, ...known({ minItems, maxItems, default: given }) };
    }
  }
}

/** What may be chosen: titles only where they say more than the values, since older clients know no others (SEP-1330). */
function choiceOf(options: readonly FormOption[], titled: "oneOf" | "anyOf") {
  if (options.every(({ value, title }) => value === title))
    return { type: "string" as const, enum: options.map(({ value }) => value) };
  return { [titled]: options.map(({ value, title }) => ({ const: value, title })) };
}

type Known<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members that have a value. */
function known<T extends object>(members: T): Known<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Known<T>;
}
