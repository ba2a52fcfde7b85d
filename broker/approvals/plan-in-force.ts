import { oneLine } from "../../base/visible-text.ts";
import { digestInTurns } from "../../protocol/canonical-json.ts";
import {
  describeAssumption,
  isApprovable,
  isSameJson,
  type OpenValue,
  type Plan,
  type PlannedCall,
  resolveValue,
  valueAt,
  withoutOpen,
} from "./plan.ts";

/** A call of a program that is held against a plan. */
export interface CallToMatch {
  readonly tool: string;
  readonly definitionDigest: string;
  readonly arguments: unknown;
  /** Whether it needs an approval now, and what asks about it. */
  readonly asks: boolean;
  readonly rule?: string | undefined;
}

/** What the plan says about a call. `number` is the call's number in the plan. */
export type Matched =
  | { readonly kind: "approved" | "denied" | "by-itself" | "unasked"; readonly number: number }
  /** The call is not the one that was planned. `differs` says how, in one line. */
  | { readonly kind: "unplanned"; readonly differs: string };

/** A plan that somebody has answered, as it is kept when its run is suspended. */
export interface KeptPlan {
  readonly plan: Plan;
  readonly approved: readonly number[];
  /** The calls that are asked about by themselves once their late values are known. */
  readonly kept?: readonly number[] | undefined;
  readonly used: readonly number[];
  /** The answers to ended calls of the plan, as far as later calls need them. */
  readonly ended: readonly (readonly [number: number, answer: unknown])[];
  /** What the late reads of the plan brought last, by their numbers. */
  readonly brought?: readonly (readonly [number: number, answer: unknown])[] | undefined;
  /** The calls that have failed last, and how many times each call was made again. */
  readonly failed?: readonly number[] | undefined;
  readonly repeated?: readonly (readonly [number: number, times: number])[] | undefined;
  readonly by: string;
  readonly how?: string | undefined;
  /** How the person proved that they gave the answer, as in `ApprovalAnswer`. */
  readonly proof?: { readonly way: string } | undefined;
}

/**
 * How a call has ended: with the answer that the program gets, as a failure after which it may be made again, because its server says
 * that it failed or was never asked, or in a way that leaves open what the server did.
 */
export type Ending = { readonly answer: unknown } | "failed" | "unclear";

/**
 * A plan that somebody has answered. Each call of the program is held against it: the same tool with the same definition, equal
 * arguments, for the same reason, and not before the calls that the plan has before it. Values that were open have to be those of the
 * real answers, and what the plan takes for granted of answers has to be so. Each planned call counts once; after it has failed, as
 * often again as the plan says.
 */
export class PlanInForce {
  readonly by: string;
  readonly how: string | undefined;
  readonly #kept: KeptPlan;
  readonly #used: Set<number>;
  readonly #ended: Map<number, unknown>;
  readonly #brought: Map<number, unknown>;
  readonly #failed: Set<number>;
  readonly #repeated: Map<number, number>;
  /** The calls whose answers later calls need. */
  readonly #needed: ReadonlySet<number>;

  constructor(kept: KeptPlan) {
    this.#kept = kept;
    this.by = kept.by;
    this.how = kept.how;
    this.#used = new Set(kept.used);
    this.#ended = new Map(kept.ended);
    this.#brought = new Map(kept.brought);
    this.#failed = new Set(kept.failed);
    this.#repeated = new Map(kept.repeated);
    const { calls, reads = [] } = kept.plan;
    const passedOn = [...calls, ...reads].flatMap(({ open }) =>
      open.flatMap(({ parts }) =>
        parts.flatMap((part) => (typeof part !== "string" && "call" in part ? [part.call] : [])),
      ),
    );
    this.#needed = new Set([...passedOn, ...calls.flatMap(({ when = [] }) => when.map(({ call }) => call))]);
  }

  /** What is kept when the run is suspended. @param open the call whose own question is open: the continued run makes it again. */
  kept(open?: number): KeptPlan {
    const brought = this.#brought.size === 0 ? {} : { brought: [...this.#brought] };
    const used = [...this.#used].filter((number) => number !== open);
    const failed = this.#failed.size === 0 ? {} : { failed: [...this.#failed] };
    const repeated = this.#repeated.size === 0 ? {} : { repeated: [...this.#repeated] };
    return { ...this.#kept, used, ended: [...this.#ended], ...brought, ...failed, ...repeated };
  }

  /** Finds the planned call that a call is, and uses it up. */
  async match(call: CallToMatch): Promise<Matched> {
    const candidates: number[] = [];
    for (const [index, planned] of this.#kept.plan.calls.entries()) {
      if (planned.tool !== call.tool || planned.definitionDigest !== call.definitionDigest) continue;
      const digest = await digestInTurns(withoutOpen(call.arguments, planned) ?? null);
      if (digest === planned.argumentsDigest) candidates.push(index + 1);
    }
    // Nothing is awaited from here on, so that no two calls are the same planned one.
    let differs = this.#describeOther(call);
    for (const number of candidates) {
      const planned = this.#kept.plan.calls[number - 1];
      if (planned === undefined || (this.#used.has(number) && !this.#mayRepeat(number, planned))) continue;
      const wrong = this.#whyNot(planned, call);
      if (wrong !== undefined) {
        differs = wrong;
        continue;
      }
      if (this.#used.has(number)) this.#repeated.set(number, this.#timesRepeated(number) + 1);
      this.#failed.delete(number);
      this.#used.add(number);
      if (!call.asks) return { kind: "unasked", number };
      if (!isApprovable(planned) || this.#kept.kept?.includes(number) === true)
        return { kind: "by-itself", number };
      return { kind: this.#kept.approved.includes(number) ? "approved" : "denied", number };
    }
    return { kind: "unplanned", differs };
  }

  /** A call of the plan has ended. */
  end(number: number, ending: Ending): void {
    if (ending === "failed") this.#failed.add(number);
    const answer = typeof ending === "string" ? undefined : ending.answer;
    this.#ended.set(number, this.#needed.has(number) ? answer : null);
  }

  /** Whether a call that was made may be made again: it was approved, it has failed, and the plan has it so. */
  #mayRepeat(number: number, { again = 0 }: PlannedCall): boolean {
    const isApproved = this.#kept.approved.includes(number);
    return isApproved && this.#failed.has(number) && this.#timesRepeated(number) < again;
  }

  #timesRepeated(number: number): number {
    return this.#repeated.get(number) ?? 0;
  }

  /**
   * A read has ended that needs no approval. If it is a late read of the plan, what it brings counts from now on: the same tool with
   * the same definition and arguments, after the calls that the plan has before it.
   */
  async read(
    { tool, definitionDigest, arguments: args }: Omit<CallToMatch, "asks">,
    answer: unknown,
  ): Promise<void> {
    const { reads = [] } = this.#kept.plan;
    let found: number | undefined;
    // Of several that it may be, it is the last one whose changes were made.
    let after = 0;
    for (const [index, planned] of reads.entries()) {
      if (planned.tool !== tool || planned.definitionDigest !== definitionDigest) continue;
      if (this.#ended.size < planned.after || planned.after < after) continue;
      const masked = withoutOpen(args, { open: planned.open, undecided: [] });
      if ((await digestInTurns(masked ?? null)) !== planned.argumentsDigest) continue;
      if (this.#otherValue(planned.open, args) !== undefined) continue;
      found = index + 1;
      after = planned.after;
    }
    if (found !== undefined) this.#brought.set(found, answer);
  }

  /** The first open value that is not what real answers have. */
  #otherValue(open: readonly OpenValue[], args: unknown): OpenValue | undefined {
    return open.find(({ path, parts }) => {
      const expected = resolveValue(
        parts,
        (number) => this.#ended.get(number),
        (number) => this.#brought.get(number),
      );
      return expected === undefined || !isSameJson(expected, valueAt(args, path));
    });
  }

  #whyNot(planned: PlannedCall, call: CallToMatch): string | undefined {
    if (this.#used.size < planned.after) return "a call that the plan has before it has not been made";
    if (call.asks && !planned.asks) return "the plan has it as a call that needs no approval";
    if (call.asks && planned.rule !== call.rule) return "another rule asks about it than in the plan";
    const untrue = planned.when?.find(({ call: earlier, path, is }) => {
      const real = valueAt(this.#ended.get(earlier), path);
      return real === undefined || !isSameJson(real, is);
    });
    if (untrue !== undefined)
      return `the plan has it only if ${oneLine(describeAssumption(untrue))}, and that is not so`;
    const other = this.#otherValue(planned.open, call.arguments);
    return other === undefined
      ? undefined
      : `${oneLine(other.path.join("."))} is not what the plan says: an earlier call answered otherwise, or the program passes something else`;
  }

  #describeOther({ tool, definitionDigest, arguments: args }: CallToMatch): string {
    const ofTool = this.#kept.plan.calls
      .map((planned, index) => ({ planned, number: index + 1 }))
      .filter(({ planned, number }) => planned.tool === tool && !this.#used.has(number));
    const [next] = ofTool;
    if (next === undefined) return "the approved plan has no such call, or no further one";
    if (next.planned.definitionDigest !== definitionDigest)
      return "its server has changed the tool since the plan was approved";
    const names = new Set([...membersOf(next.planned.arguments), ...membersOf(args)]);
    const others = [...names].filter(
      (name) => !isSameJson(valueAt(next.planned.arguments, [name]), valueAt(args, [name])),
    );
    const what =
      others.length === 0
        ? "its arguments"
        : others
            .slice(0, 5)
            .map((name) => oneLine(name, 60))
            .join(", ");
    return `it differs from call ${next.number} of the approved plan in ${what}`;
  }
}

function membersOf(value: unknown): string[] {
  return typeof value === "object" && value !== null ? Object.keys(value) : [];
}
