import { describe, expect, it } from "vitest";
import { buildArguments } from "../../../upstream/local/local-connection.ts";
import { fillTemplate, parseTemplate } from "../../../upstream/local/local-tool.ts";

const build = (command: string[], args: Record<string, unknown>) =>
  buildArguments(command.map(parseTemplate), args);

describe("the arguments of a local tool's command", () => {
  it("are one element, whatever a value holds", () => {
    const value = "$(id); `x` 'y' \"z\" *\n";
    expect(build(["{a}"], { a: value })).toEqual([value]);
  });

  const cases: [name: string, command: string[], args: Record<string, unknown>, built: string[]][] = [
    ["are one element for a text", ["{a}"], { a: "$(id); `x` 'y' \"z\" *\n" }, ["$(id); `x` 'y' \"z\" *\n"]],
    ["stand within other text", ["--name={a}-{b}"], { a: "x", b: "-y" }, ["--name=x--y"]],
    [
      "are JSON where they are no texts",
      ["{a}", "{b}", "{c}", "n={d}"],
      { a: 1.5, b: [1, "x"], c: { d: null }, d: true },
      ["1.5", '[1,"x"]', '{"d":null}', "n=true"],
    ],
    ["leave an element out where one is absent", ["-v", "--lang={lang}", "{a}"], { a: "x" }, ["-v", "x"]],
    [
      "are an element for each item of a list",
      ["--", "{files...}", "end"],
      { files: ["a b", "-c", 1] },
      ["--", "a b", "-c", "1", "end"],
    ],
    ["are none for an empty list, and an absent one", ["{a...}", "{b...}"], { a: [] }, []],
    ["may begin with a dash after --", ["-e", "--", "{a}"], { a: "-rf" }, ["-e", "--", "-rf"]],
    ["may be empty", ["{a}"], { a: "" }, [""]],
    [
      "leave braces around anything else",
      ["{print $1}", "{{name}}", "{ a }", "{}"],
      { name: "x" },
      ["{print $1}", "{name}", "{ a }", "{}"],
    ],
    ["are no members that an object inherits", ["{constructor}", "{toString...}"], {}, []],
  ];
  it.each(cases)("%s", (_, command, args, built) => expect(build(command, args)).toEqual(built));

  const refused: [name: string, command: string[], args: Record<string, unknown>, message: RegExp][] = [
    ["that begin with a dash", ["{a}"], { a: "-rf" }, /^'a' begins with '-', which its program could take/],
    ["that begin with a dash and are numbers", ["{a}"], { a: -5 }, /^'a' begins with '-'/],
    ["of which one item begins with a dash", ["{a...}"], { a: ["x", "--y"] }, /^'a' begins with '-'/],
    ["that make a dash of two values", ["{a}{b}"], { a: "", b: "-x" }, /begins with '-'/],
    ["with an own -- before a dash", ["{a...}"], { a: ["--", "-x"] }, /begins with '-'/],
    ["with NUL characters", ["n={a}"], { a: "x\0y" }, /^'a' holds a NUL character/],
    ["that are too long", ["{a}"], { a: "x".repeat(100_001) }, /^'a' is too long for a command line/],
    ["that are too many", ["{a...}"], { a: Array.from({ length: 5_000 }, () => "x") }, /^'a' is too long/],
    ["that are no list where one is spread", ["{a...}"], { a: "x" }, /^'a' is no list$/],
  ];
  it.each(refused)("are refused %s", (_, command, args, message) =>
    expect(() => build(command, args)).toThrow(message),
  );
});

describe("what a local tool's command reads", () => {
  it("has the place of an absent argument empty", () => {
    const template = parseTemplate("{a}\n{b}|{c}\n");
    expect(fillTemplate(template, { a: "x\0y", c: [1] })).toBe("x\0y\n|[1]\n");
  });
});
