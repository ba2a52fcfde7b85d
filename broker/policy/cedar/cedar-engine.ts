import { messageOf } from "../../../base/faults.ts";

type Package = typeof import("@cedar-policy/cedar-wasm/nodejs");
type Answer = ReturnType<Package["statefulIsAuthorized"]>;

export type CedarRequest = Omit<
  Parameters<Package["statefulIsAuthorized"]>[0],
  "preparsedPolicySetId" | "validateRequest" | "preparsedSchemaName"
>;

/** Cedar's decision. `rules` are the ids of the rules that decided; empty for a denial by default. */
export type CedarDecision =
  | { isAllowed: boolean; rules: readonly string[] }
  /** A rule, or the request, could not be evaluated. */
  | { problem: string; rules: readonly string[] };

/** A problem with a rule, and the line of its text, from 1. */
export interface RuleProblem {
  id: string;
  message: string;
  line: number;
}

/** The number of rule sets that are kept parsed. */
const MAX_SETS = 2_048;

/** The package is not installed, for example because optional packages were left out. */
export class NoCedarError extends Error {
  override readonly name = "NoCedarError";
}

let loading: Promise<CedarEngine> | undefined;

/** Loads Cedar, once. @throws NoCedarError */
export function loadCedar(): Promise<CedarEngine> {
  loading ??= load();
  return loading;
}

async function load(): Promise<CedarEngine> {
  try {
    return new CedarEngine(await import("@cedar-policy/cedar-wasm/nodejs"));
  } catch (cause) {
    const message = `rules need the package @cedar-policy/cedar-wasm, which cannot be loaded (${messageOf(cause)}); install ptc with its optional packages`;
    throw new NoCedarError(message, { cause });
  }
}

/** Cedar, in this thread. The only place that knows its package. */
class CedarEngine {
  readonly #cedar: Package;
  /** For each set key, the name under which the package keeps the parsed set. */
  readonly #sets = new Map<string, string>();

  constructor(cedar: Package) {
    this.#cedar = cedar;
  }

  /** Decides a request by a set of valid rules. Never throws. */
  decide(rules: ReadonlyMap<string, string>, setKey: string, request: CedarRequest): CedarDecision {
    try {
      const preparsedPolicySetId = this.#parsed(rules, setKey);
      return decisionOf(
        this.#cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId, validateRequest: false }),
      );
    } catch (error) {
      return { problem: messageOf(error), rules: [] };
    }
  }

  /** Every mistake in a set of rules, in no order: text that is not Cedar, and names that the schema does not know. */
  findProblems(
    rules: ReadonlyMap<string, string>,
    schema: string,
  ): { errors: RuleProblem[]; warnings: RuleProblem[] } {
    const errors: RuleProblem[] = [];
    const validate = (texts: ReadonlyMap<string, string>) =>
      this.#cedar.validate({
        schema,
        policies: { staticPolicies: Object.fromEntries(texts) },
      });
    let answer = validate(rules);
    if (answer.type === "failure") {
      const parsed = new Map<string, string>();
      for (const [id, text] of rules) {
        const own = this.#cedar.checkParsePolicySet({ staticPolicies: { [id]: text } });
        if (own.type === "success") parsed.set(id, text);
        else errors.push(...own.errors.slice(0, 1).map((error) => problemOf(id, text, error)));
      }
      answer = validate(parsed);
    }
    if (answer.type === "failure")
      return { errors: [...errors, ...answer.errors.map((error) => problemOf("", "", error))], warnings: [] };
    const located = ({ policyId, error }: (typeof answer.validationErrors)[number]) =>
      problemOf(policyId, rules.get(policyId) ?? "", error);
    return {
      errors: [...errors, ...answer.validationErrors.map(located)],
      warnings: answer.validationWarnings.map(located),
    };
  }

  /** A schema as JSON. */
  schemaJson(schema: string): unknown {
    const answer = this.#cedar.schemaToJson(schema);
    return answer.type === "success" ? answer.json : undefined;
  }

  #parsed(rules: ReadonlyMap<string, string>, setKey: string): string {
    const known = this.#sets.get(setKey);
    if (known !== undefined) return known;
    // The package has no way to forget a set, so names are reused once nothing refers to them.
    if (this.#sets.size >= MAX_SETS) this.#sets.clear();
    const name = `set-${this.#sets.size}`;
    const answer = this.#cedar.preparsePolicySet(name, { staticPolicies: Object.fromEntries(rules) });
    if (answer.type === "failure") throw new Error(answer.errors[0]?.message ?? "the rules cannot be parsed");
    this.#sets.set(setKey, name);
    return name;
  }
}

function decisionOf(answer: Answer): CedarDecision {
  if (answer.type === "failure") {
    return { problem: answer.errors[0]?.message ?? "the request cannot be evaluated", rules: [] };
  }
  const { decision, diagnostics } = answer.response;
  const [failed] = diagnostics.errors;
  if (failed !== undefined) return { problem: failed.error.message, rules: [failed.policyId] };
  return { isAllowed: decision === "allow", rules: diagnostics.reason };
}

type DetailedError = Extract<Answer, { type: "failure" }>["errors"][number];

function problemOf(id: string, text: string, { message, help, sourceLocations }: DetailedError): RuleProblem {
  const label = sourceLocations?.[0]?.label ?? null;
  const isAboutList = / in context for Action::"list" not found$/.test(message);
  const advice = isAboutList
    ? 'name the actions that the rule is about, as in action == Action::"call"'
    : null;
  const more = [label, help, advice].filter((each) => each !== null && each !== "");
  const said = message
    .replace(/^failed to parse policy(?: with id `[^`]*`)? from string: /, "")
    .replace(/^for policy `[^`]*`, /, "");
  return {
    id,
    message: [said, ...more].join("; "),
    line: text.slice(0, charsOf(text, sourceLocations?.[0]?.start ?? 0)).split("\n").length,
  };
}

/** Cedar counts bytes of UTF-8. */
function charsOf(text: string, bytes: number): number {
  return Buffer.from(text).subarray(0, bytes).toString().length;
}
