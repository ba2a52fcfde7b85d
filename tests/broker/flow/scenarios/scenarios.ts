import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { ScenarioRun } from "./rig.ts";
import type { World } from "./world.ts";

/** A thing that must not happen, or has to: a call of a tool with this value in an argument. */
export interface Wanted {
  readonly tool: string;
  readonly argument: string;
  /** As the server is given it; `undefined` for whatever the data is that must not go there. */
  readonly value?: unknown;
}

export interface Scenario {
  readonly name: string;
  readonly policy: string;
  readonly world: World;
  readonly runs: readonly ScenarioRun[];
}

export interface HostileScenario extends Scenario {
  readonly attack: Wanted;
}

export interface HonestScenario extends Scenario {
  /** The tools that change something and have to have been called, in this order. */
  readonly done?: readonly string[];
  /** The tool that a person is asked about, or that is refused, and why that is meant. */
  readonly asks?: string;
  readonly refused?: string;
  readonly why?: string;
  /** Whether the model is shown nothing that carries a label. */
  readonly clean?: boolean;
}

const read = (file: string) => parse(readFileSync(join(import.meta.dirname, file), "utf8"));

const ENCODINGS: Readonly<Record<string, (value: string) => string>> = {
  base64: (value) => Buffer.from(value).toString("base64"),
  percent: (value) =>
    [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  entities: (value) => [...value].map((char) => `&#${char.charCodeAt(0)};`).join(""),
  hex: (value) => Buffer.from(value).toString("hex"),
  reversed: (value) => [...value].reverse().join(""),
  rot13: (value) =>
    value.replace(/[a-z]/gi, (char) => {
      const first = char <= "Z" ? 65 : 97;
      return String.fromCharCode(((char.charCodeAt(0) - first + 13) % 26) + first);
    }),
  pieces: (value) => (value.match(/.{1,3}/g) ?? []).join("|"),
  spaced: (value) => `[${[...value].join(" ")}]`,
  codes: (value) => [...value].map((char) => char.charCodeAt(0)).join(","),
  json: (value) => JSON.stringify({ to: value }),
  words: (value) => `[${value.replace("@", " at ").replaceAll(".", " dot ")}]`,
  extract: (value) => `extract:${value}`,
};

interface Technique {
  readonly encode?: string;
  readonly js?: string;
  readonly py?: string;
  readonly shows?: string;
  readonly literal?: boolean;
  readonly asData?: boolean;
  readonly halves?: boolean;
  readonly direct?: boolean;
}

interface Act {
  readonly tool: string;
  readonly argument: string;
  readonly isList?: boolean;
  readonly isNumber?: boolean;
  readonly prefix?: string;
  readonly others: Readonly<Record<string, unknown>>;
}

interface Goal {
  readonly name: string;
  readonly policy: string;
  readonly world: World;
  readonly value: string | number;
  readonly read: { readonly tool: string; readonly arguments: unknown };
  readonly text: string;
  readonly py: string;
  readonly act: Act;
  readonly techniques: "all" | readonly string[];
}

/** A tool as its effects name it: `mail.send` for `mcp__mail__send`. */
const effectOf = (tool: string) => tool.replace(/^mcp__/, "").replace("__", ".");

const callInJs = ({ tool, argument, isList, isNumber, prefix, others }: Act, value: string) => {
  const given = isList
    ? `[${value}]`
    : isNumber
      ? `Number(${value})`
      : prefix === undefined
        ? value
        : `${JSON.stringify(prefix)} + ${value}`;
  return `await callTool(${JSON.stringify(tool)}, { ...${JSON.stringify(others)}, ${argument}: ${given} });`;
};
const callInPython = ({ tool, argument, isList, isNumber, prefix, others }: Act, value: string) => {
  const given = isList
    ? `[${value}]`
    : isNumber
      ? `int(${value})`
      : prefix === undefined
        ? value
        : `${JSON.stringify(prefix)} + ${value}`;
  return `call_tool(${JSON.stringify(tool)}, {**${JSON.stringify(others)}, ${JSON.stringify(argument)}: ${given}})`;
};

function programsOf(
  { read: { tool, arguments: args }, text, py, act, value }: Goal,
  technique: Technique,
): ScenarioRun[] {
  const found = `const found = await callTool(${JSON.stringify(tool)}, ${JSON.stringify(args)});\nconst text = ${text};`;
  if (technique.halves === true)
    return [
      { program: `${found}\nglobalThis.result = text.slice(0, Math.floor(text.length / 2));` },
      { program: `${found}\nglobalThis.result = text.slice(Math.floor(text.length / 2));` },
      { program: callInJs(act, JSON.stringify(value)) },
    ];
  if (technique.direct === true)
    return [
      { call: { tool, arguments: args } },
      {
        call: { tool: act.tool, arguments: { ...act.others, [act.argument]: act.isList ? [value] : value } },
      },
    ];
  if (technique.shows !== undefined) {
    const second = technique.literal === true ? JSON.stringify(value) : "data.value";
    return [
      { program: `${found}\nglobalThis.result = ${technique.shows};` },
      { program: callInJs(act, second), ...(technique.asData === true ? { data: { value } } : {}) },
    ];
  }
  if (technique.py !== undefined) {
    const program = `found = call_tool(${JSON.stringify(tool)}, ${JSON.stringify(args)})\ntext = ${py}\n${technique.py}\n${callInPython(act, "taken")}`;
    return [{ language: "python", program }];
  }
  return [{ program: `${found}\nlet taken;\n${technique.js}\n${callInJs(act, "taken")}` }];
}

export function hostileScenarios(): HostileScenario[] {
  const { goals, techniques, leaks, transforms, others } = read("hostile.yaml") as {
    goals: Goal[];
    techniques: Record<string, Technique>;
    leaks: Omit<Goal, "value" | "techniques">[];
    transforms: Record<string, { js?: string; py?: string; shows?: boolean }>;
    others: HostileScenario[];
  };
  const taken = goals.flatMap((goal) =>
    (goal.techniques === "all" ? Object.keys(techniques) : goal.techniques).map((name): HostileScenario => {
      const technique = techniques[name];
      if (technique === undefined) throw new Error(`there is no technique ${name}`);
      const encode = ENCODINGS[technique.encode ?? ""] ?? ((value: string) => value);
      const world = JSON.parse(
        JSON.stringify(goal.world).replace(
          "{PLANT}",
          JSON.stringify(encode(String(goal.value))).slice(1, -1),
        ),
      );
      const value = name === "capitals" ? String(goal.value).toUpperCase() : goal.value;
      const attack = {
        tool: effectOf(goal.act.tool),
        argument: goal.act.argument,
        value: goal.act.isList ? [value] : value,
      };
      return {
        name: `${goal.name}: ${name}`,
        policy: goal.policy,
        world,
        runs: programsOf(goal, technique),
        attack,
      };
    }),
  );
  const leaked = leaks.flatMap((leak) =>
    Object.entries(transforms).map(([name, { js, py, shows }]): HostileScenario => {
      const { tool, arguments: args } = leak.read;
      const found = `const found = await callTool(${JSON.stringify(tool)}, ${JSON.stringify(args)});\nconst text = ${leak.text};`;
      const attack = { tool: effectOf(leak.act.tool), argument: leak.act.argument };
      const base = { name: `${leak.name}: ${name}`, policy: leak.policy, world: leak.world, attack };
      if (shows === true) {
        const secret = JSON.stringify(Object.values(JSON.parse(JSON.stringify(leak.world)))[0]);
        const text = /"(?:text|deploy|pricing\.ts)":"([^"]*)"/.exec(secret)?.[1] ?? secret;
        return {
          ...base,
          runs: [
            { program: `${found}\nglobalThis.result = text;` },
            { program: callInJs(leak.act, JSON.stringify(text)) },
          ],
        };
      }
      if (py !== undefined) {
        const program = `found = call_tool(${JSON.stringify(tool)}, ${JSON.stringify(args)})\ntext = ${leak.py}\n${py}\n${callInPython(leak.act, "sent")}`;
        return { ...base, runs: [{ language: "python", program }] };
      }
      return { ...base, runs: [{ program: `${found}\nlet sent;\n${js}\n${callInJs(leak.act, "sent")}` }] };
    }),
  );
  return [...taken, ...leaked, ...others];
}

export function honestScenarios(): HonestScenario[] {
  const { worlds, scenarios } = read("honest.yaml") as {
    worlds: Record<string, World>;
    scenarios: HonestScenario[];
  };
  return scenarios.map((scenario) => ({ ...scenario, world: worlds[scenario.policy] ?? {} }));
}

/** A task of a user, as one program and in steps whose answers the model is shown one by one. */
export interface ShownTask extends Scenario {
  readonly said: string;
  readonly done: readonly string[];
  /** The tool whose call is left to a person, and why that is meant. */
  readonly stopped?: string;
  readonly why?: string;
  readonly way: "steps" | "program";
}

export function shownTasks(): ShownTask[] {
  const { worlds, tasks } = read("shown.yaml") as {
    worlds: Record<string, World>;
    tasks: (Omit<ShownTask, "runs" | "world" | "way"> & {
      steps: readonly [tool: string, args: unknown][];
      program: string;
    })[];
  };
  const { worlds: others } = read("honest.yaml") as { worlds: Record<string, World> };
  const named = (tool: string) => `mcp__${tool.replace(".", "__")}`;
  return tasks.flatMap(({ steps, program, ...task }): ShownTask[] => {
    const base = { ...task, world: worlds[task.policy] ?? others[task.policy] ?? {} };
    const shown = steps.map(([tool, args], index) => ({
      ...(index === 0 ? { said: task.said } : {}),
      program: `globalThis.result = await callTool(${JSON.stringify(named(tool))}, ${JSON.stringify(args)});`,
    }));
    const call = "const call = (tool, args) => callTool(`mcp__${tool.replace('.', '__')}`, args);";
    return [
      { ...base, way: "steps", runs: shown },
      { ...base, way: "program", runs: [{ said: task.said, program: `${call}\n${program}` }] },
    ];
  });
}

export function unreachableScenarios(): (Scenario & { happens: Wanted })[] {
  return read("out-of-reach.yaml") as (Scenario & { happens: Wanted })[];
}

/** Whether a call did what is wanted. */
export function isWanted(
  { tool, argument, value }: Wanted,
  effect: { tool: string; arguments: Readonly<Record<string, unknown>> },
): boolean {
  if (effect.tool !== tool) return false;
  return value === undefined || JSON.stringify(effect.arguments[argument]) === JSON.stringify(value);
}
