import { describe, expect, it } from "vitest";
import {
  namedDeclarations,
  toolsNamedIn,
} from "../../../../languages/python/type-check/type-check-python.ts";
import { listingOf } from "../../../codegen/list-tools.ts";
import { generateStubs } from "../../../codegen/python/generate-stubs.ts";

const person = { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } } };
const TOOLS = ["find-person", "list_people", "drop_people"].map((name) => ({
  name,
  inputSchema: { type: "object", properties: { who: { type: "string" } } },
  outputSchema: { type: "object", properties: { people: { type: "array", items: person } } },
}));

async function kept(program: string): Promise<string[]> {
  const { files, modules } = await generateStubs([listingOf(TOOLS, "crm")]);
  const text = files.get("servers/crm/__init__.pyi") ?? "";
  const tools = toolsNamedIn(modules.get("crm")?.tools ?? [], program);
  const found = namedDeclarations(text, program, tools).matchAll(/^(?:class|(?:async )?def) (\w+)/gm);
  return [...new Set([...found].map(([, name = ""]) => name))].sort();
}

describe("the stubs that a program names", () => {
  it("are the functions that it calls, by either name, and the types that these have", async () => {
    const ofList = ["ListPeopleInput", "ListPeopleOutput", "ListPeopleOutputPeopleItem", "list_people"];
    const found = await kept("from servers.crm import list_people\nawait list_people(who='a')");
    expect(found.filter((name) => !/^ListPeople/.test(name))).toEqual(["list_people"]);
    expect(found).toEqual(expect.arrayContaining(ofList.slice(0, 2)));
    expect(await kept("await mcp__crm__find_person(who='a')")).toContain("find_person");
    expect(await kept("x: servers.crm.DropPeopleInput = {}")).toEqual(["DropPeopleInput"]);
    expect(await kept("print(1)")).toEqual([]);
  });
});
