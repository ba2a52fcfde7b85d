/**
 * Rules about what is another's: somebody's runs, the questions that wait in them, and the audit log. They stand in the same files as
 * the rules about tools, and are decided apart from these: a rule that permits everything about tools opens nothing of anybody. A rule
 * is about people if its head names `read_runs` or `audit`, or names people as its resource. Only a rule whose head names an action
 * permits it.
 */
import type { Access, Owner, Viewer } from "../authorizer.ts";
import type { CedarRequest, loadCedar, RuleProblem } from "./cedar-engine.ts";
import type { PeopleAction } from "./rule-schema.ts";
import type { Rule } from "./rule-set.ts";

const ONLY_PEOPLE: ReadonlySet<string> = new Set<PeopleAction>(["read_runs", "audit"]);
const PEOPLE: ReadonlySet<string> = new Set<PeopleAction>(["read_runs", "approve", "audit"]);
const PEOPLE_TYPES: ReadonlySet<string> = new Set(["User", "Group", "Log"]);

/** Whether a rule is about what is another's, and not about tools. */
export function isAboutPeople({ action, resource, resourceType }: Rule): boolean {
  if (action?.some(({ id }) => ONLY_PEOPLE.has(id))) return true;
  if (resourceType !== undefined) return PEOPLE_TYPES.has(resourceType);
  return resource?.some(({ type }) => PEOPLE_TYPES.has(type)) === true;
}

/** A prohibition for somebody in all things: it names no resource, and looks at nothing but who asks. */
function isForEverything({ effect, isAsk, resource, resourceType, words }: Rule): boolean {
  const looks = resource !== undefined || resourceType !== undefined;
  return effect === "forbid" && !isAsk && !looks && !words.has("resource") && !words.has("context");
}

/** What rules about people say. `rules` are the ids of those that decided; `reason` is one line. */
interface PeopleVerdict {
  readonly kind: "allow" | "deny";
  readonly rules: readonly string[];
  readonly reason?: string;
}

/** The mistakes of rules about people that Cedar does not find. */
export function problemsOfPeople(rules: readonly Rule[]): RuleProblem[] {
  return rules.flatMap(({ id, action, isAsk, effect }) => {
    const other = action?.find((each) => !PEOPLE.has(each.id));
    const message =
      other !== undefined
        ? `it names '${other.id}', which is about tools, together with what is about people; write a rule for each`
        : isAsk
          ? "@ask stands on a rule about people; nobody is asked about what is another's"
          : action === undefined && effect === "permit"
            ? 'it permits something about people without its action; name it, as in action == Action::"read_runs"'
            : undefined;
    return message === undefined ? [] : [{ id, line: 1, message }];
  });
}

/** Which groups of somebody count: their own, or also those that only bind them (`RunContext.boundGroups`). */
export type CountedGroups = "own" | "all";

type Engine = Pick<Awaited<ReturnType<typeof loadCedar>>, "decide">;

export class PeopleRules {
  readonly #engine: Engine;
  readonly #groupsOf: (owner: Owner, counting: CountedGroups) => readonly string[];
  readonly #name: string;
  /** By action, the rules that decide about it. */
  readonly #byAction: ReadonlyMap<PeopleAction, ReadonlyMap<string, string>>;

  /**
   * @param all the rules of a configuration, of which those about people are taken, and prohibitions of everything.
   * @param name tells its sets from those of others.
   */
  constructor(
    engine: Engine,
    all: readonly Rule[],
    {
      name,
      groupsOf,
    }: { name: string; groupsOf: (owner: Owner, counting: CountedGroups) => readonly string[] },
  ) {
    this.#engine = engine;
    this.#groupsOf = groupsOf;
    this.#name = name;
    const actions = ["read_runs", "approve", "audit"] as const;
    const textsFor = (wanted: PeopleAction) =>
      all.filter((rule) => {
        const isNamed = rule.action?.some(({ id }) => id === wanted) === true;
        if (isAboutPeople(rule)) return isNamed || (rule.effect === "forbid" && rule.action === undefined);
        return isForEverything(rule) && (isNamed || rule.action === undefined);
      });
    this.#byAction = new Map(
      actions.map((action) => [action, new Map(textsFor(action).map(({ id, text }) => [id, text]))]),
    );
  }

  /** Whether a rule permits somebody what is another's. What cannot be decided is denied. */
  decide(viewer: Viewer, access: Access): PeopleVerdict {
    const texts = this.#byAction.get(access.action) ?? new Map();
    const denied = (rules: readonly string[], reason: string) => ({ kind: "deny" as const, rules, reason });
    const none = `no rule permits '${access.action}' to '${viewer.principal}'`;
    if (texts.size === 0) return denied([], none);
    const key = `${this.#name} people ${access.action}`;
    const isBound = [viewer, "of" in access ? access.of : {}].some(
      ({ boundGroups = [] }: Partial<Owner>) => boundGroups.length > 0,
    );
    let permitting: readonly string[] | undefined;
    for (const counting of isBound ? (["own", "all"] as const) : (["own"] as const)) {
      const decided = this.#engine.decide(texts, key, this.#requestOf(viewer, access, counting));
      if ("problem" in decided) return denied(decided.rules, `it could not be decided: ${decided.problem}`);
      if (!decided.isAllowed)
        return denied(decided.rules, decided.rules.length === 0 ? none : `a rule forbids '${access.action}'`);
      // What more groups permit does not count.
      permitting ??= decided.rules;
    }
    return { kind: "allow", rules: permitting ?? [] };
  }

  #requestOf(viewer: Viewer, access: Access, counting: CountedGroups): CedarRequest {
    const entityOf = (owner: Owner) => ({
      uid: { type: "User", id: owner.principal },
      attrs: {},
      parents: this.#groupsOf(owner, counting).map((id) => ({ type: "Group", id })),
    });
    const own = entityOf(viewer);
    const action = { type: "Action", id: access.action };
    if (access.action === "audit")
      return {
        principal: own.uid,
        action,
        resource: { type: "Log", id: "audit" },
        context: {},
        entities: [own],
      };
    const other = entityOf(access.of);
    const context = access.action === "approve" ? { tool: access.tool, server: access.server } : {};
    return { principal: own.uid, action, resource: other.uid, context, entities: [own, other] };
  }
}
