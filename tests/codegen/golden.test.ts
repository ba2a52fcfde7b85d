import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { RUNTIME_DECLARATIONS } from "../../codegen/print-runtime.ts";
import { serverModule } from "../../protocol/tool-name.ts";
import { compileGenerated } from "./compile-generated.ts";
import { generateModule } from "./list-tools.ts";

const folder = resolve(import.meta.dirname, "../golden");
const cases = readdirSync(folder).filter((name) => existsSync(join(folder, name, "tools.json")));

async function generate(name: string) {
  const { server, tools } = JSON.parse(readFileSync(join(folder, name, "tools.json"), "utf8"));
  return generateModule(tools, server, serverModule(server));
}

describe("golden modules", () => {
  test("there are some", () => {
    expect(cases.length).toBeGreaterThanOrEqual(8);
  });

  test.each(cases)("%s is generated exactly as it was reviewed", async (name) => {
    const { text, warnings } = await generate(name);
    const golden = join(folder, name, "index.ts");
    if (process.env.PTC_UPDATE_GOLDEN === "1") writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, "utf8"));
    expect(warnings).toEqual([]);
  });

  test("all of them pass the strictest settings of TypeScript", () => {
    const files = new Map([["runtime.d.ts", RUNTIME_DECLARATIONS]]);
    for (const name of cases) {
      files.set(
        `servers/${name.replaceAll("-", "_")}/index.ts`,
        readFileSync(join(folder, name, "index.ts"), "utf8"),
      );
    }
    expect(compileGenerated(files)).toEqual([]);
  });
});
