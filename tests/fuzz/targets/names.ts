import assert from "node:assert/strict";
import { assignIdentifiers } from "../../../catalog/identifiers.ts";
import {
  matchesPattern,
  namespacedName,
  parseNamespacedName,
  serverModule,
  ToolNames,
} from "../../../protocol/tool-names.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import { LISTS } from "../hostile/words.ts";

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const WORDS = LISTS.nameParts;

/** Names of tools that servers give, what code calls them, and the patterns that a policy is made of. */
export const target = fuzzTarget({
  name: "names",
  iterations: 270,
  generate: (random) =>
    random
      .list(random.between(1, 10), () =>
        random.chance(0.6)
          ? random.list(random.between(1, 5), () => random.pick(WORDS)).join("")
          : hostileText(random, 2),
      )
      .join("\n"),
  check(input, random) {
    const names = [...new Set(input.toString("utf8").split("\n"))];
    const identifiers = assignIdentifiers(names);
    assert.equal(new Set(identifiers.values()).size, names.length, "two tools have one identifier");
    const tools = names.map((name) => {
      const identifier = identifiers.get(name) ?? "";
      assert.match(identifier, IDENTIFIER);
      assert.ok(identifier.length <= 100);
      return { module: "demo", identifier, namespacedName: namespacedName("demo", name) };
    });
    assert.deepEqual(
      assignIdentifiers(random.shuffled(names)),
      identifiers,
      "an identifier depends on the order",
    );
    assert.deepEqual(assignIdentifiers(names, identifiers), identifiers, "an identifier does not stay");
    const known = new ToolNames(tools);
    for (const tool of tools) {
      assert.deepEqual(known.resolve(tool.namespacedName), [tool]);
      const callable = known.callable(tool);
      if (!callable.includes(".")) assert.deepEqual(known.resolve(callable), [tool]);
    }
    for (const name of names) {
      if (name !== "")
        assert.deepEqual(parseNamespacedName(namespacedName("demo", name)), { module: "demo", tool: name });
      assert.match(
        serverModule(name.replace(/[^A-Za-z0-9._-]/g, "").slice(0, 64)),
        /^[a-z0-9]+(?:_[a-z0-9]+)*$/,
      );
      const pattern = [...name]
        .map((each) => (random.chance(0.3) ? "*" : each))
        .join("")
        .slice(0, 12);
      for (const other of names) assert.equal(matchesPattern(pattern, other), oracle(pattern, other));
    }
    assert.ok(!matchesPattern("*a".repeat(2_000), "a".repeat(1_999)), "a pattern is slow or wrong");
  },
});

/** What a pattern means, spelled out: by the shorter pattern or the shorter name. */
function oracle(pattern: string, name: string): boolean {
  let ends = new Set([0]);
  for (const each of pattern) {
    const next = new Set<number>();
    for (const at of ends) {
      if (each === "*") for (let end = at; end <= name.length; end++) next.add(end);
      else if (name.startsWith(each, at)) next.add(at + each.length);
    }
    ends = next;
  }
  return ends.has(name.length);
}
