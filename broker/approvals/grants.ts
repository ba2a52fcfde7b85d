import { type ArgumentPattern, matchesArguments } from "./argument-pattern.ts";

/** What a person has allowed for the rest of a run: calls of one tool with one definition. */
export interface Grant {
  tool: string;
  definitionDigest: string;
  /** Only calls like this one; any call of the tool without it. */
  pattern?: ArgumentPattern | undefined;
  /** How many calls are left; as many as the program makes without it. */
  left?: number | undefined;
  by: string;
  how?: string | undefined;
  /** As `ApprovalAnswer` has it. */
  isTyped?: boolean | undefined;
}

/** The grants of one run. */
export class Grants {
  readonly #grants: Grant[];

  constructor(grants: readonly Grant[] = []) {
    this.#grants = grants.map((grant) => ({ ...grant }));
  }

  add(grant: Grant): void {
    this.#grants.push(grant);
  }

  /** Uses up one call of the first grant that covers this one; `undefined` when none does. */
  take(tool: string, definitionDigest: string, args: unknown): Grant | undefined {
    const found = this.#grants.find(
      (grant) =>
        grant.tool === tool &&
        grant.definitionDigest === definitionDigest &&
        grant.left !== 0 &&
        (grant.pattern === undefined || matchesArguments(grant.pattern, args)),
    );
    if (found?.left !== undefined) found.left--;
    return found;
  }

  /** All of them as they are now. */
  list(): Grant[] {
    return this.#grants.map((grant) => ({ ...grant }));
  }
}
