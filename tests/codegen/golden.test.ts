import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { RUNTIME_DECLARATIONS } from "../../codegen/typescript/declarations.ts";
import { printCompactSignature, printToolSignature } from "../../codegen/typescript/signature.ts";
import { GENERATOR } from "../../codegen/typescript/typescript-printer.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { compileGenerated } from "./compile-generated.ts";
import { generateModule } from "./list-tools.ts";

const folder = resolve(import.meta.dirname, "../golden");
const cases = readdirSync(folder).filter((name) => existsSync(join(folder, name, "tools.json")));

async function generate(name: string) {
  const { server, tools } = JSON.parse(readFileSync(join(folder, name, "tools.json"), "utf8"));
  return generateModule(tools, server, serverModule(server));
}

describe("golden modules", () => {
  test("show at least 25 tools of real servers, and the README describes each", async () => {
    const modules = await Promise.all(cases.map(generate));
    expect(modules.flatMap(({ server }) => server.tools).length).toBeGreaterThanOrEqual(25);
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    expect(cases.filter((name) => !readme.includes(`\`${name}/\``))).toEqual([]);
  });

  test("change together with the number of the generator, so that modules on disk are written anew", async () => {
    const texts: string[] = [RUNTIME_DECLARATIONS];
    for (const name of cases) texts.push((await generate(name)).text);
    const path = join(folder, "generator.json");
    const current = { generator: GENERATOR, sha256: digestOf(texts) };
    const reviewed = JSON.parse(readFileSync(path, "utf8"));
    if (process.env.PTC_UPDATE_GOLDEN === "1" && reviewed.generator !== GENERATOR) {
      writeFileSync(path, `${JSON.stringify(current, null, 2)}\n`);
    } else {
      expect(current, "raise GENERATOR, and run again with PTC_UPDATE_GOLDEN=1").toEqual(reviewed);
    }
  });

  test.each(cases)("%s is generated exactly as it was reviewed", async (name) => {
    const { text, warnings } = await generate(name);
    const golden = join(folder, name, "index.ts");
    if (process.env.PTC_UPDATE_GOLDEN === "1") writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, "utf8"));
    expect(warnings).toEqual([]);
  });

  test.each(cases)("the signatures of %s are as they were reviewed", async (name) => {
    const { server } = await generate(name);
    const texts: string[] = [];
    for (const tool of server.tools)
      texts.push(await printToolSignature(tool), await printCompactSignature(tool));
    const golden = join(folder, name, "signatures.txt");
    const text = `${texts.join("\n\n")}\n`;
    if (process.env.PTC_UPDATE_GOLDEN === "1") writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, "utf8"));
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
