import { digestOf } from "../../protocol/canonical-json.ts";
import { CheckingPool, type PoolOutcome } from "./checking-pool.ts";
import { boundedJson } from "./json-parts.ts";
import { costOfSchema, isCheap, type SchemaCost } from "./schema-cost.ts";
import type { SchemaProblem } from "./schema-problem.ts";
import type { CheckBounds } from "./schema-worker.ts";

/** Checks values against untrusted schemas of servers. */
export interface SchemaValidator {
  /**
   * Resolves with the problem of `value`, or `undefined`. Time and memory are bounded whatever the schema: a value that cannot be
   * checked within them is refused as `unchecked`.
   *
   * @param owner the name of the schema's server. Schemas of one server do not delay those of another.
   */
  check(schema: unknown, value: unknown, owner?: string): Promise<SchemaProblem | undefined>;
  close(): Promise<void>;
}

/** Why a value could not be checked. */
type Unchecked =
  | Exclude<PoolOutcome, { state: "checked" } | { state: "overtime" }>["state"]
  | "overtime"
  | "schema_too_large"
  | "failed";

const WHY_UNCHECKED: Readonly<Record<Unchecked, string>> = {
  overtime: "its schema takes too long",
  died: "the process that checked it ended; its schema may take too much memory",
  not_started: "nothing could be started to check it in",
  too_many: "too many values of its server wait to be checked; try again later",
  closed: "ptc is ending",
  value_too_large: "it is too large",
  schema_too_large: "its schema is too large",
  failed: "it is not JSON",
};

/** Compiling a longer schema would take longer than a check may. */
const MAX_SCHEMA_CHARS = 2 * 1024 * 1024;
const MAX_CHARS_IN_THREAD = 20_000;

type KnownSchema = { json: string; digest: string; cost: SchemaCost | undefined } | "schema_too_large";

/**
 * Estimates how many steps a check takes. A cheap check is done in this thread. A check that a hostile `pattern` can keep
 * busy for minutes is done in another thread. A check that can also take any memory, because of a large schema or value, is
 * done in another process.
 */
export class IsolatingValidator implements SchemaValidator {
  readonly #known = new WeakMap<object, KnownSchema>();
  readonly #pool: CheckingPool;
  #checker: Promise<typeof import("./schema-check.ts")> | undefined;

  /** @param workerModule the `schema-worker` module; by default the one beside this file, which a bundled file lacks. */
  constructor(workerModule = new URL("./schema-worker.ts", import.meta.url), bounds?: CheckBounds) {
    this.#pool = new CheckingPool(workerModule, bounds);
  }

  async check(schema: unknown, value: unknown, owner?: string): Promise<SchemaProblem | undefined> {
    try {
      // What is no object is in no such map.
      const known = this.#known.get(schema as object) ?? (await this.#learn(schema));
      if (known === "schema_too_large") return refuseUnchecked(known);
      const { json, digest, cost } = known;
      const isCounted = cost !== undefined && isCheap(cost, value);
      if (isCounted && !cost.mayRunAway) {
        this.#checker ??= import("./schema-check.ts");
        return (await this.#checker).checkAgainstSchema(json, value);
      }
      const check = { json, value, schema: digest, owner: owner ?? digest, mayUseThread: isCounted };
      const outcome = await this.#pool.check(check);
      return outcome.state === "checked" ? outcome.problem : refuseUnchecked(outcome.state);
    } catch {
      return refuseUnchecked("failed");
    }
  }

  async close(): Promise<void> {
    this.#pool.close();
  }

  async #learn(schema: unknown = true): Promise<KnownSchema> {
    const json = await boundedJson(schema, MAX_SCHEMA_CHARS);
    const known: KnownSchema =
      json === undefined
        ? "schema_too_large"
        : {
            json,
            digest: digestOf(json),
            cost: json.length > MAX_CHARS_IN_THREAD ? undefined : costOfSchema(schema),
          };
    if (typeof schema === "object" && schema !== null) this.#known.set(schema, known);
    return known;
  }
}

function refuseUnchecked(why: Unchecked): SchemaProblem {
  return { unchecked: WHY_UNCHECKED[why] };
}
