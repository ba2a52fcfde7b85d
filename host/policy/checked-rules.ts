import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PRIVATE_FOLDER_NAME } from "../../archive/private-folder.ts";
import { RULE_SCHEMA } from "../../broker/policy/cedar/rule-schema.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { version } from "../package.ts";

/** Fewer rules are checked faster than a file is written. */
const MIN_RULES = 100;
const MAX_BYTES = 256;

/**
 * Which rules were found to be without mistakes, by their digest, so that not every process looks at a thousand of them again. Nothing
 * is decided by it: a rule with a mistake that is used all the same cannot be evaluated, and what cannot be decided is denied.
 */
export class CheckedRules {
  readonly #path: string;
  readonly #digest: string;

  constructor({ directory, policy }: Pick<Configuration, "directory" | "policy">) {
    this.#path = join(directory, PRIVATE_FOLDER_NAME, "rules-checked");
    const files = policy.files.map(({ file, text }) => [file, text]);
    this.#digest = digestOf([version, RULE_SCHEMA, files]);
  }

  /** Whether these very rules were noted. */
  isKnown(): boolean {
    try {
      const { size } = statSync(this.#path);
      return size <= MAX_BYTES && readFileSync(this.#path, "utf8").trim() === this.#digest;
    } catch {
      return false;
    }
  }

  /** Notes that nothing is wrong with them. Where that cannot be, they are looked at again the next time. */
  note(rules: number): void {
    if (rules < MIN_RULES || this.isKnown()) return;
    const draft = `${this.#path}.${process.pid}`;
    try {
      mkdirSync(join(this.#path, ".."), { recursive: true, mode: 0o700 });
      writeFileSync(draft, `${this.#digest}\n`, { mode: 0o600, flag: "wx" });
      renameSync(draft, this.#path);
    } catch {
      rmSync(draft, { force: true });
    }
  }
}
