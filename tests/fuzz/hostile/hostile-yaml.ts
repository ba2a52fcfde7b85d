import type { Random } from "../random.ts";
import { hostileJson, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";
import { LISTS } from "./words.ts";

const KEYS: Readonly<Record<string, readonly string[]>> = {
  tools: ["allow", "block"],
  approvals: ["ask", "allow", "default"],
  execution: [
    "timeout_seconds",
    "max_output_bytes",
    "max_parallel_calls",
    "memory_mb",
    "cpus",
    "pids",
    "typecheck",
  ],
  sandbox: ["runtime", "image", "warm", "allow_weaker_isolation"],
  archive: ["path", "keep_days"],
};
const SERVER_KEYS = LISTS.serverKeys;
const NUMBERS = LISTS.yamlNumbers;
const WORDS = LISTS.yamlWords;

/** A ptc.yaml, more or less. */
export function hostileYaml(random: Random): string {
  if (random.chance(0.05)) return bomb(random);
  if (random.chance(0.05)) return hostileText(random, 30);
  if (random.chance(0.05)) return hostileJson(random, { deepest: 2_000 });
  const parts: string[] = [];
  if (random.chance(0.8))
    parts.push(`servers:\n${random.list(random.size(4), () => server(random)).join("")}`);
  for (const [section, keys] of Object.entries(KEYS)) {
    if (random.chance(0.5)) continue;
    const lines = random.list(random.size(4), () => `  ${key(random, keys)}: ${value(random)}\n`);
    parts.push(
      `${key(random, [section])}:${random.chance(0.9) ? `\n${lines.join("")}` : ` ${value(random)}\n`}`,
    );
  }
  return random.shuffled(parts).join(random.chance(0.05) ? "---\n" : "");
}

function server(random: Random): string {
  const name = random.chance(0.8)
    ? random.pick(["a", "b", "financial-data", "A", "a_b", "a-b"])
    : scalar(random);
  const keys = random.list(random.size(5), () => {
    const chosen = key(random, SERVER_KEYS);
    const mapping = /env|headers/.test(chosen) && random.chance(0.7);
    return `    ${chosen}: ${mapping ? `{ ${key(random, ["KEY", "Authorization"])}: ${scalar(random)} }` : value(random)}\n`;
  });
  return `  - name: ${name}\n${keys.join("")}`;
}

function key(random: Random, known: readonly string[]): string {
  return random.chance(0.93) ? random.pick(known) : scalar(random);
}

function value(random: Random): string {
  switch (random.below(8)) {
    case 0:
      return `[${random.list(random.size(5), () => scalar(random)).join(", ")}]`;
    case 1:
      return `{ ${random.list(random.size(3), () => `${scalar(random)}: ${scalar(random)}`).join(", ")} }`;
    case 2:
      return `|\n      ${hostileText(random).replaceAll("\n", "\n      ")}`;
    default:
      return scalar(random);
  }
}

function scalar(random: Random): string {
  switch (random.below(9)) {
    case 0:
      return random.pick(NUMBERS);
    case 1:
      return random.pick(WORDS);
    case 2:
      return hostileText(random, 2);
    case 3:
      return `"${random.pick(["${FIN_API_KEY}", "${MISSING}", "${MISSING:-x}", "${", "${}", "$${HOME}", "${FIN_API_KEY:-${TOKEN}}"])}"`;
    case 4:
      return `${random.pick(["&a ", "*a", "!!str ", "!!binary ", "!x ", "? "])}${random.pick(WORDS)}`;
    case 5:
      return `http://${random.pick(["x", "user:pass@x", "[::1]", "x:99999", " ", "\\u0000"])}/mcp`;
    case 6:
      return random.pick(["mcp__a__*", "mcp__*", "*", "a b", "ä"]);
    default:
      return hostileString(random, hostileText(random, 3));
  }
}

/** Text that means much more than it says: aliases of aliases, brackets in brackets, many keys. */
function bomb(random: Random): string {
  const times = random.between(5, 200);
  switch (random.below(6)) {
    case 0: {
      const lines = random.list(12, (i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i === 0 ? 0 : 9)}]`);
      return `${lines.join("\n")}\nservers: *a11\n`;
    }
    case 1:
      return `servers: ${"[".repeat(times * 20)}${"]".repeat(times * 20)}\n`;
    case 2:
      return random.list(times * 20, (i) => `k${i}: ${i}\n`).join("");
    case 3:
      return `a: &a { b: *a }\nservers: *a\n`;
    case 4:
      return `servers:\n${`${" ".repeat(2)}- &x { name: x, <<: *x }\n`.repeat(times)}`;
    default:
      return `? `.repeat(times * 5) + "- ".repeat(times * 5);
  }
}
