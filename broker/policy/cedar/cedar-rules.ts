import type { Tool } from "../../../catalog/tool.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { leavesOf, memberPath } from "../../flow/folded-text.ts";
import type { LeafFlow } from "../../flow/run-flow.ts";
import type { Access, Owner, Viewer } from "../authorizer.ts";
import { type DataFlow, describeOrigin, describeRead, unfollowed } from "../data-flow.ts";
import type { RunHistory } from "../run-history.ts";
import { isListed, placesIn, type ValueLists, withThoseAbove } from "../value-lists.ts";
import { type CedarDecision, type CedarRequest, loadCedar, type RuleProblem } from "./cedar-engine.ts";
import { decideApart } from "./decide-apart.ts";
import { type CountedGroups, isAboutPeople, PeopleRules, problemsOfPeople } from "./people-rules.ts";
import { PEOPLE_SCHEMA, RULE_SCHEMA, type RuleAction } from "./rule-schema.ts";
import {
  type ApplicableRules,
  looksAtFlow,
  type Rule,
  type RuleFile,
  RuleIndex,
  type RuleNeeds,
  readRules,
  withoutContext,
} from "./rule-set.ts";

/** The verdict of the rules on a request. `reason` is one line. */
export interface RuleVerdict {
  readonly kind: "allow" | "ask" | "deny";
  /** The rules that decided, by name. */
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
  /** Whether the reason contains the rule author's text for the denied caller (`@reason`). */
  readonly isSaid?: boolean;
  /** Set if it is denied because it could not be decided. */
  readonly isUndecided?: true;
  /** Set if the rules look at origins of values, about which more may be found out. */
  readonly looksAtFlow?: true;
}

/** A mistake in a rule, for a person. */
export interface LocatedProblem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface RulesOptions {
  files: readonly RuleFile[];
  /** The principals in each group. */
  groups: Readonly<Record<string, readonly string[]>>;
  flow: DataFlow;
  /** Whether the rules are known to have no problems, so that they are not checked again. */
  isChecked?: boolean;
  /** Whether this thread serves nobody else and can be ended, so that everything is decided in it. */
  isApart?: boolean;
}

type Engine = Awaited<ReturnType<typeof loadCedar>>;

/** The rules of a configuration. Anything that they do not permit is denied, and so is anything that cannot be decided. */
export class Rules {
  readonly all: readonly Rule[];
  readonly #byId: ReadonlyMap<string, Rule>;
  readonly #engine: Engine;
  readonly #options: RulesOptions;
  /** Rules that nobody can lift, and those that a person may lift. */
  readonly #firm: RuleIndex;
  readonly #asking: RuleIndex;
  /** The rules without conditions on the context, for when nothing is known about a call. */
  readonly #possible: RuleIndex;
  readonly #hiding: RuleIndex;
  readonly #people: PeopleRules;
  readonly #names: string;

  private constructor(engine: Engine, options: RulesOptions, all: readonly Rule[]) {
    this.#engine = engine;
    this.#options = options;
    this.all = all;
    this.#byId = new Map(all.map((rule) => [rule.id, rule]));
    this.#names = `${++opened}`;
    this.#people = new PeopleRules(engine, all, {
      name: this.#names,
      groupsOf: (owner, counting) => this.#groupsOf(owner, counting),
    });
    const ofTools = all.filter((rule) => !isAboutPeople(rule));
    const firm = ofTools.filter(({ isAsk }) => !isAsk);
    this.#firm = new RuleIndex(`${this.#names} firm`, firm);
    this.#asking = new RuleIndex(
      `${this.#names} asking`,
      ofTools.filter(({ isAsk }) => isAsk),
    );
    const possible = firm.filter((rule) => withoutContext(rule) !== undefined);
    this.#possible = new RuleIndex(`${this.#names} possible`, possible, (rule) => withoutContext(rule) ?? "");
    this.#hiding = new RuleIndex(
      `${this.#names} hiding`,
      firm.filter(({ effect }) => effect === "forbid"),
    );
  }

  /** Reads rules as far as possible. @throws NoCedarError */
  static async open(options: RulesOptions): Promise<{ rules: Rules; problems: Problems }> {
    const all = readRules(options.files);
    const engine = await loadCedar();
    const rules = new Rules(engine, options, all);
    return { rules, problems: options.isChecked ? { errors: [], warnings: [] } : rules.#findProblems() };
  }

  /**
   * Decides about a call, or about reading a resource or a prompt. What takes long is decided by a thread that is ended after a while,
   * and what it has not decided by then counts as undecided.
   */
  async decide(call: RuledCall): Promise<RuleVerdict> {
    const action = actionOf(call.tool);
    const firm = await this.#permitsCall(action, call);
    if (firm.kind === "deny") return firm;
    const rules = new Set<string>();
    let looks = false;
    for (const counting of countedGroups(call.context)) {
      const asking = this.#asking.applicable(this.#subject(action, call.context, call.tool, counting));
      if (asking.texts.size === 0) continue;
      const asked = await this.#evaluateCall(asking, action, call, counting);
      if ("problem" in asked) return this.#undecided(asked);
      for (const rule of asked.rules) rules.add(rule);
      looks ||= looksAtFlow(asking.needs);
    }
    if (rules.size === 0) return firm;
    const ids = [...rules];
    return {
      kind: "ask",
      rule: this.#nameOf(ids),
      reason: this.#reasonOf(ids, call, "ask"),
      ...(looks ? { looksAtFlow: true } : {}),
    };
  }

  /** Whether a call that a person has to approve may be made with an approval. */
  decideApproval(call: RuledCall): Promise<RuleVerdict> {
    return this.#permitsCall("approve", call);
  }

  /** Whether a viewer may call a tool in some way, and no rule hides it. */
  decideVisibility(viewer: Viewer, tool: RuledTool): RuleVerdict {
    const context: RunContext = { ...viewer, source: "serve" };
    const call = { context, tool, arguments: {}, run: NOTHING, nowMs: 0 };
    for (const counting of countedGroups(context)) {
      const subject = this.#subject(actionOf(tool), context, tool, counting);
      const applicable = this.#possible.applicable(subject);
      const decided =
        applicable.texts.size === 0 ? NONE : this.#evaluate(applicable, actionOf(tool), call, counting);
      const possible = this.#verdictOf(decided, applicable, actionOf(tool), call);
      if (possible.kind === "deny") return possible;
      const hiding = this.#hiding.applicable(this.#subject("list", context, tool, counting));
      if (hiding.texts.size === 0) continue;
      const hidden = this.#evaluate(hiding, "list", call, counting);
      if ("problem" in hidden) return this.#undecided(hidden);
      if (hidden.rules.length > 0) return { kind: "deny", rule: this.#nameOf(hidden.rules) };
    }
    return { kind: "allow" };
  }

  /** Whether somebody may have what is another's. */
  decideAccess(viewer: Viewer, access: Access): RuleVerdict {
    const { rules, ...verdict } = this.#people.decide(viewer, access);
    return { ...verdict, rule: this.#nameOf(rules) ?? "policy: no rule" };
  }

  /** Whether rules permit a call: what more groups permit does not count, and what they are forbidden does. */
  async #permitsCall(action: RuleAction, call: RuledCall): Promise<RuleVerdict> {
    let permitted: RuleVerdict | undefined;
    for (const counting of countedGroups(call.context)) {
      const applicable = this.#firm.applicable(this.#subject(action, call.context, call.tool, counting));
      const decided =
        applicable.texts.size === 0 ? NONE : await this.#evaluateCall(applicable, action, call, counting);
      const verdict = this.#verdictOf(decided, applicable, action, call);
      if (verdict.kind === "deny") return verdict;
      permitted ??= verdict;
    }
    return permitted ?? { kind: "deny" };
  }

  #verdictOf(
    decided: CedarDecision,
    applicable: ApplicableRules,
    action: RuleAction,
    call: RuledCall,
  ): RuleVerdict {
    if ("problem" in decided) return this.#undecided(decided);
    if (decided.isAllowed) return { kind: "allow", rule: this.#nameOf(decided.rules) };
    return this.#deniedBy(decided.rules, applicable, action, call);
  }

  #deniedBy(
    rules: readonly string[],
    applicable: ApplicableRules,
    action: RuleAction,
    call: RuledCall,
  ): RuleVerdict {
    const rule = this.#nameOf(rules);
    const flows = looksAtFlow(applicable.needs) ? ({ looksAtFlow: true } as const) : {};
    if (rules.length > 0)
      return {
        kind: "deny",
        rule,
        reason: this.#reasonOf(rules, call, "forbid"),
        ...flows,
        isSaid: this.#said(rules, ["reason"]).length > 0,
      };
    const { principal } = call.context;
    const what = action === "approve" ? "an approval of it" : `a ${action} of it`;
    const reason = `no rule permits ${what} to '${principal}'`;
    return { kind: "deny", rule: "policy: no rule", reason, ...flows };
  }

  #evaluate(
    applicable: ApplicableRules,
    action: RuleAction,
    call: RuledCall,
    counting: CountedGroups = "own",
  ): CedarDecision {
    const request = this.#requestFor(applicable, action, call, counting);
    if (typeof request === "string") return { problem: request, rules: [] };
    return this.#engine.decide(applicable.texts, applicable.key, request);
  }

  /** Evaluates with the arguments of a call, which its program chose: here if that is cheap, and else in another thread. */
  async #evaluateCall(
    applicable: ApplicableRules,
    action: RuleAction,
    call: RuledCall,
    counting: CountedGroups = "own",
  ): Promise<CedarDecision> {
    const request = this.#requestFor(applicable, action, call, counting);
    if (typeof request === "string") return { problem: request, rules: [] };
    if (this.#options.isApart || isCheap(applicable, request))
      return this.#engine.decide(applicable.texts, applicable.key, request);
    return decideApart(call.context.principal, { rules: applicable.texts, key: applicable.key, request });
  }

  #requestFor(
    applicable: ApplicableRules,
    action: RuleAction,
    call: RuledCall,
    counting: CountedGroups,
  ): CedarRequest | string {
    const { groups } = this.#subject(action, call.context, call.tool, counting);
    return buildRequest(applicable.needs, action, call, { groups, flow: this.#options.flow });
  }

  #undecided({ problem, rules }: { problem: string; rules: readonly string[] }): RuleVerdict {
    const rule = rules.length === 0 ? "policy" : this.#nameOf(rules);
    const reason = `whether it may be could not be decided (${rule}: ${problem})`;
    return { kind: "deny", rule, reason, isUndecided: true };
  }

  #nameOf(ids: readonly string[]): string | undefined {
    const names = [...ids].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
    return names.length === 0 ? undefined : names.map((id) => this.#byId.get(id)?.name ?? id).join(", ");
  }

  #reasonOf(ids: readonly string[], { run }: RuledCall, effect: "ask" | "forbid"): string {
    const rules = ids.flatMap((id) => this.#byId.get(id) ?? []);
    const names = effect === "ask" ? ["ask", "reason"] : ["reason"];
    const said = this.#said(ids, names);
    const looksAtReads = rules.some(({ words }) => words.has("labels") || words.has("servers"));
    const { flow } = this.#options;
    const labelled = run.reads.filter((read) => (flow.labelsOfRead(read) ?? []).length > 0);
    const reads = (labelled.length > 0 ? labelled : run.reads).slice(0, 3).map(describeRead);
    const because = looksAtReads && reads.length > 0 ? `; this run has read ${reads.join(", ")}` : "";
    const values = rules.some(({ needs }) => looksAtFlow(needs)) ? describeLabelled(run) : "";
    const verb = effect === "ask" ? "needs an approval by rule" : "is forbidden by rule";
    return `it ${verb} ${this.#nameOf(ids)}${said.length > 0 ? `: ${said.join("; ")}` : ""}${because}${values}`;
  }

  /** The texts of these annotations of rules. */
  #said(ids: readonly string[], names: readonly string[]): string[] {
    const rules = ids.flatMap((id) => this.#byId.get(id) ?? []);
    return rules.flatMap(({ annotations }) => names.flatMap((name) => annotations.get(name) || []));
  }

  /** The groups that rules name and the configuration does not define: only logins say who is in them. */
  groupsOfLogins(): readonly string[] {
    const named = new Set(this.all.flatMap(({ text }) => groupsNamedIn(text)));
    return [...named].filter((group) => !Object.hasOwn(this.#options.groups, group)).sort();
  }

  /** Groups of somebody: those of the configuration, those of the login, and, with `all`, those that only bind. */
  #groupsOf({ principal, groups = [], boundGroups = [] }: Owner, counting: CountedGroups): string[] {
    const member = Object.entries(this.#options.groups).flatMap(([group, members]) =>
      members.includes(principal) ? [group] : [],
    );
    return [...new Set([...member, ...groups, ...(counting === "all" ? boundGroups : [])])].sort();
  }

  #subject(action: RuleAction, context: RunContext, tool: RuledTool, counting: CountedGroups = "own") {
    const { principal } = context;
    const groups = this.#groupsOf(context, counting);
    return { action, principal, groups, tool: tool.namespacedName, server: tool.server };
  }

  #findProblems(): Problems {
    const textsOf = (rules: readonly Rule[]) => new Map(rules.map(({ id, text }) => [id, text]));
    const people = this.all.filter(isAboutPeople);
    const mistaken = problemsOfPeople(people);
    const ofTools = this.all.filter((rule) => !isAboutPeople(rule));
    const found = [
      this.#engine.findProblems(textsOf(ofTools), RULE_SCHEMA),
      // What is wrong with a head is said in ptc's words alone.
      this.#engine.findProblems(
        textsOf(people.filter(({ id }) => !mistaken.some((each) => each.id === id))),
        PEOPLE_SCHEMA,
      ),
    ];
    const errors = [...found.flatMap((each) => each.errors), ...mistaken];
    const warnings = found.flatMap((each) => each.warnings);
    const own = ofTools.flatMap(({ id, isAsk, effect }) =>
      isAsk && effect === "permit"
        ? [
            {
              id,
              line: 1,
              message: "@ask stands on a permit; put it on a forbid, which a person may lift then",
            },
          ]
        : [],
    );
    return { errors: this.#locate([...errors, ...own]), warnings: this.#locate(warnings) };
  }

  /** Locates problems, at most one per line, in the order of the files. */
  #locate(problems: readonly RuleProblem[]): LocatedProblem[] {
    const known = new Set<string>();
    return problems
      .toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)) || a.line - b.line)
      .flatMap(({ id, line, message }) => {
        const rule = this.#byId.get(id);
        const place = { file: rule?.file ?? "policy", line: (rule?.line ?? 1) + line - 1 };
        const key = `${place.file}:${place.line}`;
        if (known.has(key)) return [];
        known.add(key);
        return [{ ...place, message }];
      });
  }
}

/** The problems of rules. Rules with errors are not used. */
export interface Problems {
  readonly errors: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/** The groups that the text of a rule names, in its head or in its conditions. */
function groupsNamedIn(text: string): string[] {
  return [...text.matchAll(/\bGroup\s*::\s*"((?:[^"\\]|\\.)*)"/g)].map(([, id = ""]) =>
    id.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|x([0-7][0-9a-fA-F])|(.))/g, (_, point, byte, sign: string) =>
      sign === undefined ? String.fromCodePoint(Number.parseInt(point ?? byte, 16)) : (ESCAPES[sign] ?? sign),
    ),
  );
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", 0: "\0" };

/** With which groups of somebody a set of prohibitions is to be looked at. Each time, what it forbids is forbidden. */
function countedGroups({ boundGroups = [] }: Owner): readonly CountedGroups[] {
  return boundGroups.length === 0 ? ["own"] : ["own", "all"];
}

const NONE: CedarDecision = { isAllowed: false, rules: [] };
const NOTHING: RunHistory = { calls: 0, callsOfTool: 0, reads: [] };

/** Distinguishes the sets of one configuration from those of others in the same process. */
let opened = 0;

function actionOf({ method }: RuledTool): "call" | "read" {
  return method === undefined ? "call" : "read";
}

/** A tool as rules see it. */
type RuledTool = Pick<Tool, "namespacedName" | "server" | "name" | "annotations" | "method" | "title">;

/** A call that rules decide about. */
export interface RuledCall {
  readonly context: RunContext;
  readonly tool: RuledTool;
  readonly arguments: unknown;
  readonly run: RunHistory;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** What is decided in this thread takes a few milliseconds at most. */
const MAX_CHEAP_VALUES = 400;
const MAX_CHEAP_CHARS = 16 * 1024;
/** Characters of patterns times characters of texts, and rules times values. */
const MAX_CHEAP_COMPARISONS = 2_000_000;
const MAX_CHEAP_LOOKS = 100_000;

/** Whether rules are certain to decide quickly: by how much there is to look at, and how often they look. */
function isCheap({ texts, likeChars }: ApplicableRules, { entities }: CedarRequest): boolean {
  let [values, chars] = [0, 0];
  const count = (value: unknown): void => {
    values++;
    if (typeof value === "string") chars += value.length;
  };
  for (const { tags = {} } of entities)
    for (const [path, value] of Object.entries(tags)) {
      chars += path.length;
      if (Array.isArray(value)) for (const item of value) count(item);
      else count(value);
      if (values > MAX_CHEAP_VALUES || chars > MAX_CHEAP_CHARS) return false;
    }
  return chars * likeChars <= MAX_CHEAP_COMPARISONS && values * texts.size <= MAX_CHEAP_LOOKS;
}

interface RequestSurroundings {
  /** All groups of the principal. */
  groups: readonly string[];
  flow: DataFlow;
}

/** Builds a request in Cedar's form, with everything the rules look at, or returns why that is not possible. */
function buildRequest(
  needs: RuleNeeds,
  action: RuleAction,
  { context, tool, arguments: args, run, nowMs }: RuledCall,
  { groups, flow }: RequestSurroundings,
): CedarRequest | string {
  const principal = { type: "User", id: context.principal };
  const resource = { type: "Tool", id: tool.namespacedName };
  const entities: CedarRequest["entities"] = [];
  if (needs.principal)
    entities.push({ uid: principal, attrs: {}, parents: groups.map((id) => ({ type: "Group", id })) });
  if (needs.resource)
    entities.push({
      uid: resource,
      attrs: attributesOf(tool, flow),
      parents: [{ type: "Server", id: tool.server }],
    });
  const told: CedarRequest["context"] = {};
  const request = { principal, action: { type: "Action", id: action }, resource, context: told, entities };
  // When a tool is searched for, nothing is known about a call.
  if (action === "list") return request;
  if (needs.source) told.source = context.source;
  if (needs.client) told.client = { name: context.client?.name ?? "", id: context.clientId ?? "" };
  if (needs.now) told.now = { __extn: { fn: "datetime", arg: new Date(nowMs).toISOString() } };
  if (needs.run) {
    const unknown = run.reads.find((read) => flow.labelsOfRead(read) === undefined);
    if (unknown !== undefined)
      return `this run has read ${describeRead(unknown)}, whose server is no longer configured`;
    told.run = {
      calls: run.calls,
      callsOfTool: run.callsOfTool,
      servers: [...new Set(run.reads.map(({ server }) => server))],
      labels: flow.labelsRead(run.reads),
    };
  }
  if (needs.conversation) told.conversation = { labels: [...(run.shown ?? [])] };
  const tell = (name: string, type: string, tags: Tags) => {
    const uid = { type, id: "call" };
    entities.push({ uid, attrs: {}, parents: [], tags });
    told[name] = { __entity: uid };
  };
  const looksAtValues = needs.arguments || needs.numbers || needs.lists || looksAtFlow(needs);
  const looksAtAny = looksAtValues || needs.hosts || needs.domains || needs.listed;
  const listed = looksAtAny ? listArguments(args) : undefined;
  if (looksAtAny && listed === undefined)
    return "its arguments are too many or too long for rules to look at";
  if (needs.hosts || needs.domains) {
    const places = placesIn(args, MAX_VALUES);
    if (places === undefined) return "its arguments name too many places for rules to look at";
    const { hosts, domains } = places;
    if (needs.hosts) tell("hosts", "Hosts", setsOf(hosts));
    if (needs.domains) tell("domains", "Domains", setsOf(domains));
  }
  if (needs.listed) tell("listed", "Listed", listedIn(args, flow.lists));
  if (looksAtFlow(needs)) {
    const leaves = (run.values ?? unfollowed(args, flow.labelsRead(run.reads))).leaves;
    if (needs.labels) tell("labels", "Labels", setsOf(labelsByPath(leaves)));
    if (needs.origins) tell("origins", "Origins", setsOf(originsByPath(leaves)));
    if (needs.said) told.said = saidPaths(leaves);
  }
  if ((needs.arguments || needs.numbers || needs.lists) && listed !== undefined) {
    const decimal = (arg: string) => ({ __extn: { fn: "decimal", arg } });
    const tags = [
      ["arguments", "Arguments", listed.texts],
      ["numbers", "Numbers", mapValues(listed.numbers, decimal)],
      ["lists", "Lists", mapValues(listed.lists, (items) => [...items])],
    ] as const;
    for (const [name, type, values] of tags) if (needs[name]) tell(name, type, values);
  }
  return request;
}

type Tags = NonNullable<CedarRequest["entities"][number]["tags"]>;

function setsOf(sets: ReadonlyMap<string, ReadonlySet<string>>): Tags {
  return Object.fromEntries([...sets].map(([path, values]) => [path, [...values]]));
}

function byPath(
  leaves: readonly LeafFlow[],
  valuesOf: (leaf: LeafFlow) => readonly string[],
): Map<string, Set<string>> {
  const paths = new Map<string, Set<string>>();
  for (const leaf of leaves)
    for (const path of leaf.path === "" ? [] : withThoseAbove(leaf.path)) {
      const known = paths.get(path) ?? new Set();
      for (const value of valuesOf(leaf)) known.add(value);
      paths.set(path, known);
    }
  return paths;
}

function labelsByPath(leaves: readonly LeafFlow[]) {
  return byPath(leaves, ({ labels, undecided }) => [...labels, ...undecided]);
}

function originsByPath(leaves: readonly LeafFlow[]) {
  return byPath(leaves, ({ origins }) =>
    origins.map(({ kind, tool }) => (kind === "result" ? (tool ?? kind) : kind)),
  );
}

/** The paths whose values were all said by the user. */
function saidPaths(leaves: readonly Pick<LeafFlow, "path" | "isSaid">[]): string[] {
  const unsaid = new Set(leaves.filter(({ isSaid }) => !isSaid).flatMap(({ path }) => withThoseAbove(path)));
  const said = leaves.filter(({ isSaid }) => isSaid).flatMap(({ path }) => withThoseAbove(path));
  return [...new Set(said)].filter((path) => !unsaid.has(path));
}

function listedIn(args: unknown, lists: ValueLists): Tags {
  const { leaves } = leavesOf(args, MAX_VALUES);
  return Object.fromEntries(
    Object.keys(lists).map((name) => {
      const flows = leaves.map(({ path, value }) => ({ path, isSaid: isListed(lists, name, value) }));
      return [name, saidPaths(flows)];
    }),
  );
}

const MAX_DESCRIBED = 3;

/** The labels of a call's values in words, phrased to follow other words. */
function describeLabelled({ values }: RunHistory): string {
  const labelled = (values?.leaves ?? []).filter(
    ({ labels, undecided }) => labels.length + undecided.length > 0,
  );
  if (labelled.length === 0) return "";
  const each = labelled.slice(0, MAX_DESCRIBED).map(({ path, origins, labels, undecided }) => {
    const from = origins.find((origin) => origin.labels.length > 0);
    if (from !== undefined && labels.length > 0) return `\`${path}\` comes from ${describeOrigin(from)}`;
    return `\`${path}\` may depend on ${[...labels, ...undecided].map((label) => `'${label}'`).join(", ")} data`;
  });
  return `; ${each.join(", ")}`;
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function attributesOf(tool: RuledTool, flow: DataFlow) {
  const accepts = flow.acceptsOf(tool);
  return {
    name: tool.name,
    server: tool.server,
    labels: [...new Set(flow.labelsOf(tool) ?? [])],
    ...(accepts === undefined ? {} : { accepts: [...accepts] }),
    claims: claimsOf(tool),
  };
}

const HINTS = {
  readOnly: "readOnlyHint",
  destructive: "destructiveHint",
  idempotent: "idempotentHint",
  openWorld: "openWorldHint",
} as const;

/** The server's claims about its tool. Values whose type differs from the protocol's (MCP, "ToolAnnotations") are left out. */
function claimsOf({ annotations = {}, title }: RuledTool): Record<string, boolean | string> {
  const claims: Record<string, boolean | string> = title === undefined ? {} : { title };
  for (const [name, hint] of Object.entries(HINTS)) {
    const value = Object.hasOwn(annotations, hint) ? annotations[hint] : undefined;
    if (typeof value === "boolean") claims[name] = value;
  }
  return claims;
}

/** The arguments of a call, as rules see them. */
interface RuleArguments {
  /** By path: every text, number, boolean and null, as a text. */
  readonly texts: Readonly<Record<string, string>>;
  /** By path: every number, as a Cedar decimal. */
  readonly numbers: Readonly<Record<string, string>>;
  /** By path: every list that contains only such values. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const MAX_VALUES = 5_000;
const MAX_CHARS = 1_048_576;

/** The bounds of Cedar's `decimal`: a 64-bit number of ten-thousandths. */
const MAX_DECIMAL = 922_337_203_685_477;

/**
 * Lists the values in arguments by path. Different places have different paths, whatever the names of members.
 *
 * @returns `undefined` if there are more values, or longer ones, than rules can handle.
 */
function listArguments(args: unknown): RuleArguments | undefined {
  const texts = new Map<string, string>();
  const numbers = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  let chars = 0;
  const open: [path: string, value: unknown][] = [["", args]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    const text = scalarText(value);
    chars += path.length + (text?.length ?? 0);
    if (texts.size + open.length + lists.size > MAX_VALUES || chars > MAX_CHARS) return undefined;
    if (text !== undefined) {
      texts.set(path, text);
      if (typeof value === "number" || typeof value === "bigint") numbers.set(path, decimalOf(Number(value)));
    } else if (Array.isArray(value)) {
      if (value.length > MAX_VALUES) return undefined;
      const items = value.map(scalarText);
      if (items.every((item) => item !== undefined)) lists.set(path, items);
      for (const [index, item] of value.entries()) open.push([`${path}[${index}]`, item]);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value);
      if (members.length > MAX_VALUES) return undefined;
      for (const [name, member] of members) open.push([memberPath(path, name), member]);
    }
  }
  return {
    texts: Object.fromEntries(texts),
    numbers: Object.fromEntries(numbers),
    lists: Object.fromEntries(lists),
  };
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (["number", "bigint", "boolean"].includes(typeof value)) return String(value);
  return value === null || value === undefined ? "null" : undefined;
}

/** A number with four decimal places, rounded away from zero, so that it never counts as smaller than it is. */
function decimalOf(value: number): string {
  if (Math.abs(value) >= MAX_DECIMAL) return `${value < 0 ? "-" : ""}${MAX_DECIMAL}.0`;
  const near = value.toFixed(4);
  return Math.abs(Number(near)) >= Math.abs(value)
    ? near
    : (Number(near) + Math.sign(value) * 0.0001).toFixed(4);
}
