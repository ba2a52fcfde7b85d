import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import { loadPrinters } from "../../../languages/languages.ts";
import { buildInstructions } from "../../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../../server/mcp/tools/own-tools.ts";

const NAMES: Record<string, (i: number) => string> = {
  words: (i) => `company_service_${i}`,
  "letters and numbers": (i) => `s${i}`,
  noise: (i) => `x9k2_q7z_${(i * 7919).toString(36)}`,
  consonants: (i) => `qxzjvkwp${i}`,
  long: (i) => `${i}_${"x".repeat(60)}`,
};

/** Modules of 37 servers as people have them. */
const REAL =
  `asana azure brightdata browserstack chrome_devtools claude_flow cloudbase context7 everything figma_console
  filesystem firecrawl git_cyanheads github gitlab_ref gitlab_zereight google_drive google_maps heroku hostinger hubspot
  jira_aashari kubernetes_go linear mcp_kubernetes memory mongodb n8n notion playwright puppeteer replicate sentry
  sequential_thinking slack_ref supabase task_master`.split(/\s+/);

const modules = (count: number, name: string) =>
  Array.from({ length: count }, (_, i) => NAMES[name]?.(i) ?? "");

describe("what a model always has in its context", () => {
  it.each(Object.keys(NAMES).flatMap((name) => [0, 1, 100, 2_000].map((count) => [count, name] as const)))(
    "is under 1,000 tokens with %d servers, named with %s",
    (count, name) => {
      const definitions = buildToolDefinitions(modules(count, name), [PRINTER]);
      const instructions = buildInstructions(modules(count, name), [PRINTER]);
      expect(definitions.map((tool) => tool.name)).toEqual([
        "execute_program",
        "search_tools",
        "inspect_tool",
        "list_callable_tools",
        "read_output",
      ]);
      expect(countTokens(JSON.stringify(definitions)) + countTokens(instructions)).toBeLessThan(1_000);
      expect(instructions.length).toBeLessThanOrEqual(2_000);
    },
  );

  it("has sessions where they are on, for a handful of tokens", () => {
    const [own] = buildToolDefinitions(REAL, [PRINTER], true);
    const [without] = buildToolDefinitions(REAL, [PRINTER]);
    expect(own?.inputSchema.properties.session).toMatchObject({ type: "string" });
    expect(without?.inputSchema.properties).not.toHaveProperty("session");
    const more = countTokens(JSON.stringify(own)) - countTokens(JSON.stringify(without));
    expect(more).toBeLessThan(30);
  });

  it.each([
    [["python"], 1_000],
    [["typescript", "python"], 1_150],
    [["python", "typescript"], 1_150],
  ] as const)("costs little with the languages %s: under %d tokens", async (languages, most) => {
    const printers = await loadPrinters(languages);
    for (const [count, name] of [0, 1, 100, 2_000].flatMap((each) =>
      Object.keys(NAMES).map((names) => [each, names] as const),
    )) {
      const definitions = buildToolDefinitions(modules(count, name), printers);
      const instructions = buildInstructions(modules(count, name), printers);
      expect(countTokens(JSON.stringify(definitions)) + countTokens(instructions)).toBeLessThan(most);
      expect(instructions.length).toBeLessThanOrEqual(2_000);
      const own = JSON.stringify(definitions[0]);
      expect(own.includes('"language":')).toBe(languages.length > 1);
    }
  });

  it("names all of 37 servers, and once where they are many", () => {
    const instructions = buildInstructions(REAL, [PRINTER]);
    expect(instructions).toMatch(new RegExp(`Servers: ${REAL.join(", ")}$`));
    expect(JSON.stringify(buildToolDefinitions(REAL, [PRINTER]))).not.toContain(REAL[0]);
    expect(JSON.stringify(buildToolDefinitions(REAL.slice(0, 3), [PRINTER]))).toContain(
      "Servers: asana, azure, brightdata.",
    );
  });

  it("tell of a model where one is configured, and name it as no server", () => {
    const without = buildInstructions(["docs"], [PRINTER]);
    const asked = buildInstructions(["docs", "ptc"], [PRINTER]);
    expect(without).not.toContain("extract");
    expect(asked).toContain('`await extract(text, { name: "string", tags: ["string"] })` coerces text');
    expect(asked).toMatch(/Servers: docs$/);
    expect(countTokens(asked) - countTokens(without)).toBeLessThan(30);
  });

  it("says when to call tools that are listed beside it, in one short sentence", () => {
    const [without, listed] = [false, true].map((hasDirect) =>
      buildInstructions(REAL, [PRINTER], [], hasDirect),
    );
    expect(listed).toContain("call one directly only for one small result");
    expect(countTokens(listed ?? "") - countTokens(without ?? "")).toBeLessThan(25);
    expect(listed?.length).toBeLessThanOrEqual(2_000);
  });

  it("leads to signatures, which take the place of schemas", () => {
    expect(buildInstructions([], [PRINTER])).toContain('search_tools with detail "signature"');
  });

  it("names the servers, and says how many more there are", () => {
    expect(buildInstructions(modules(2, "words"), [PRINTER])).toContain(
      "Servers: company_service_0, company_service_1",
    );
    expect(buildInstructions(modules(100, "words"), [PRINTER])).toMatch(
      /company_service_6, .*and \d\d more$/,
    );
  });
});
