// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { problemIn } from "./parse-text.ts";

type Mistake = [what: string, text: string, message: string];
const MISTAKES: Record<string, Mistake[]> = parseYaml(
  readFileSync(join(import.meta.dirname, "mistakes.yaml"), "utf8"),
);

describe("a configuration that is wrong", () => {
  it.each(
    Object.entries(MISTAKES).flatMap(([where, rows]) =>
      rows.map(([what, ...rest]): Mistake => [`${where}: ${what}`, ...rest]),
    ),
  )("says so in one line: %s", (_, text, message) => {
    expect(problemIn(text)).toBe(message);
    expect(message).not.toContain("\n");
  });

  it("never has the value of a secret in its message", () => {
    const secret = "hunter2-and-more";
    const texts = [
      `servers: [{name: a, url: '${secret}'}]`,
      `servers: [{name: a, url: 'http://h/', headers: '${secret}'}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: "${secret}\\n"}}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: !${secret} x}}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: *${secret}}}]`,
      `servers: [{name: a, command: x, env: {A: ["${secret}"]}}]`,
      `servers: [{name: a, transport: '${secret}', url: 'http://h/'}]`,
      `servers: [{name: a, url: '\${SECRET}'}]`,
      `servers: [{name: a, command: x, env: {A: "\\q${secret}"}}]`,
    ];
    for (const text of texts) expect(problemIn(text, { SECRET: secret })).not.toContain(secret);
  });
});

describe("a configuration made to harm", () => {
  const wide = (of: string) => `[${Array.from({ length: 9 }, () => of).join(",")}]`;
  const bomb = [
    "a: &a [x]",
    ...[..."bcdefghi"].map((name, i) => `${name}: &${name} ${wide(`*${"abcdefgh"[i]}`)}`),
  ];
  const full = (unit: string) => unit.repeat(Math.floor(262_144 / unit.length));
  const HARMFUL: [name: string, text: string][] = [
    ["aliases that multiply", bomb.join("\n")],
    ["an alias of its own container", "servers: &a [*a]"],
    ["many aliases", `servers:\n  - &a x\n${"  - *a\n".repeat(10_000)}`],
    ["many keys", Array.from({ length: 25_000 }, (_, i) => `k${i}:`).join("\n")],
    ["deep lists", full("[")],
    ["deep sequences", full("- ")],
    ["quotes only", full('"')],
    ["closing braces only", full("}")],
    ["directives only", full("%\n")],
    ["many anchors", full("&a ")],
    ["a file too large", " ".repeat(262_145)],
    ["a prototype", "__proto__: {servers: []}"],
    ["a prototype as a variable", "servers: [{name: a, command: x, env: {__proto__: x}}]"],
  ];

  it.each(HARMFUL)("is refused in bounded time: %s", { timeout: 60_000 }, (_, text) => {
    const message = problemIn(text);
    expect(message).toMatch(/^ptc\.yaml:\d+: /);
    expect(message.length).toBeLessThan(400);
    expect(message).not.toContain("\n");
  });

  it("is refused for its aliases, before anything walks what they make", () => {
    expect(problemIn(bomb.join("\n"))).toBe(
      "ptc.yaml:1: aliases multiply beyond any use; write the values out",
    );
    const many = `servers:\n  - &a x\n${"  - *a\n".repeat(101)}`;
    expect(problemIn(many)).toBe("ptc.yaml:103: more than 100 aliases; write the values out");
  });
});

describe("a number that is none", () => {
  it.each([".inf", "-.inf", ".nan", "1e999", "-1e999"])(
    "is refused with its line, wherever it stands: %s",
    (number) => {
      for (const text of [
        `execution:\n  pids: ${number}\n`,
        `execution:\n  cpus: ${number}\n`,
        `archive:\n  keep_days: ${number}\n`,
        `sandbox:\n  image: ${number}\n`,
        `tools:\n  block: [${number}]\n`,
        `servers:\n  - { name: ${number}, command: x }\n`,
        `servers:\n  - { name: x, command: x, call_timeout_seconds: ${number} }\n`,
        `a:\n  ${number}: 1\n`,
      ]) {
        expect(problemIn(text)).toMatch(/^ptc\.yaml:[12]: [^\n]+$/);
      }
    },
  );
});
