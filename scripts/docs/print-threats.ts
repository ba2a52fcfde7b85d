import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const Threat = z.strictObject({
  attack: z.string().min(1),
  defence: z.string().min(1),
  /** The names of the tests that try the attack, by their file. */
  tests: z.record(z.string(), z.array(z.string()).min(1)),
});

const Register = z.array(
  z.strictObject({
    attacker: z.string(),
    about: z.string().optional(),
    threats: z.array(Threat).min(1),
    /** What this attacker can still do. */
    limits: z.string().optional(),
  }),
);

const REGISTER = "docs/threats.yaml";

/** Reads the register of threats. */
export function readThreats(): z.infer<typeof Register> {
  const file = join(import.meta.dirname, "../..", REGISTER);
  return Register.parse(parse(readFileSync(file, "utf8")));
}

const HEAD = `# Threats

<!-- Made from ${basename(REGISTER)} by scripts/docs.ts -->

Each table has one attacker: what they try, what stops it, and the tests that try it. Below it stands what they **can** still do.
[SECURITY.md](../SECURITY.md) has the model behind it.
`;

/** Renders the register as a page. A link to a file of tests has the names of its tests as its title. */
export function printThreats(): string {
  const sections = readThreats().map(({ attacker, about, threats, limits }) => {
    const rows = threats.map(({ attack, defence, tests }) => {
      const links = Object.entries(tests).map(
        ([file, names]) => `[${nameOf(file)}](../${file} ${titleOf(names)})`,
      );
      return `| ${attack} | ${defence} | ${links.join(", ")} |`;
    });
    const table = ["| attack | what stops it | tests |", "|---|---|---|", ...rows].join("\n");
    const texts = [`## ${attacker}`, about?.trim(), table, limits?.trim()];
    return texts.filter((text) => text !== undefined && text !== "").join("\n\n");
  });
  return `${[HEAD.trim(), ...sections].join("\n\n")}\n`;
}

function nameOf(file: string): string {
  return basename(file).replace(/(?:\.real)?\.test\.ts$|\.ts$/, "");
}

function titleOf(names: readonly string[]): string {
  const text = names.join("; ").replaceAll('"', "'").replaceAll("|", "\\|");
  return `"${text}"`;
}
