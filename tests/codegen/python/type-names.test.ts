import { expect, test } from "vitest";
import { listingOf } from "../list-tools.ts";
import { generateStubs } from "./generate-stubs.ts";

const $defs = {
  node: {
    type: "object",
    properties: { next: { $ref: "#/$defs/node" }, tag: { $ref: "#/$defs/tag" } },
    required: ["tag"],
  },
  tag: { type: "object", properties: { name: { type: "string" }, within: { $ref: "#/$defs/tag" } } },
};

const WALK_TAG = [
  "class WalkTag(TypedDict):",
  "    name: NotRequired[str]",
  "    within: NotRequired[WalkTag]",
];

/** The lines of a stub that declare types, of a tool with this schema of its result. */
async function typesOf(outputSchema: object): Promise<string> {
  const listing = listingOf([
    { name: "walk", inputSchema: { type: "object", properties: {} }, outputSchema },
  ]);
  const { files, warnings } = await generateStubs([listing]);
  expect(warnings).toEqual([]);
  const text = files.get("servers/demo/__init__.pyi") ?? "";
  return text.slice(text.indexOf("\nclass ") + 1, text.indexOf("\n\n# ptc "));
}

test("a result that is a definition has one type, and the other definitions have their own", async () => {
  expect(await typesOf({ $ref: "#/$defs/node", $defs })).toBe(
    [
      "class WalkOutput(TypedDict):",
      "    next: NotRequired[WalkOutput]",
      "    tag: WalkTag",
      "",
      ...WALK_TAG,
    ].join("\n"),
  );
});

test("a result with definitions has a type beside theirs", async () => {
  expect(await typesOf({ type: "object", properties: { root: { $ref: "#/$defs/node" } }, $defs })).toBe(
    [
      "class WalkOutput(TypedDict):",
      "    root: NotRequired[WalkNode]",
      "",
      "class WalkNode(TypedDict):",
      "    next: NotRequired[WalkNode]",
      "    tag: WalkTag",
      "",
      ...WALK_TAG,
    ].join("\n"),
  );
});
