import { isDate } from "node:util/types";
import { describe, expect, it } from "vitest";
import { makeDate } from "../../../../runner-image/node/environment/environment.ts";

const NOW = 1_700_000_000_123;
const ProgramDate = makeDate(Date, () => NOW);

describe("the Date of a program", () => {
  it("reads the program's clock wherever the original reads the system's", () => {
    expect(ProgramDate.now()).toBe(NOW);
    expect(new ProgramDate().getTime()).toBe(NOW);
    expect(ProgramDate()).toBe(new Date(NOW).toString());
    expect(Reflect.construct(ProgramDate, []).getTime()).toBe(NOW);
    // Called as a function it ignores what it is given.
    expect(Reflect.apply(ProgramDate, undefined, [0])).toBe(new Date(NOW).toString());
  });

  it.each<[string, unknown[]]>([
    ["milliseconds", [86_400_000]],
    ["text", ["2024-02-29T12:00:00Z"]],
    ["parts", [2024, 1, 29, 12, 30]],
    ["another date", [new Date(7)]],
    ["undefined", [undefined]],
    ["null", [null]],
    ["no date", ["nonsense"]],
  ])("takes %s as the original does", (_, args) => {
    expect(Reflect.construct(ProgramDate, args)).toEqual(Reflect.construct(Date, args));
  });

  it("has the original's name, length, members and prototype", () => {
    expect([ProgramDate.name, ProgramDate.length]).toEqual(["Date", 7]);
    expect(ProgramDate.prototype).toBe(Date.prototype);
    expect(Object.getOwnPropertyNames(ProgramDate).sort()).toEqual(Object.getOwnPropertyNames(Date).sort());
    for (const name of Object.getOwnPropertyNames(Date)) {
      const { value: _ours, ...ours } = Object.getOwnPropertyDescriptor(ProgramDate, name) ?? {};
      const { value: _theirs, ...theirs } = Object.getOwnPropertyDescriptor(Date, name) ?? {};
      expect({ name, ...ours }).toEqual({ name, ...theirs });
    }
    expect([ProgramDate.UTC(2024, 0), ProgramDate.parse("2024-01-01")]).toEqual([
      Date.UTC(2024, 0),
      Date.UTC(2024, 0),
    ]);
  });

  it("makes dates that are dates", () => {
    const date = new ProgramDate();
    expect(date instanceof ProgramDate && date instanceof Date && isDate(date)).toBe(true);
    expect(structuredClone(date).getTime()).toBe(NOW);
  });

  it("can be extended", () => {
    class Deadline extends ProgramDate {
      left(): number {
        return this.getTime() - ProgramDate.now();
      }
    }
    const deadline = new Deadline();
    expect(deadline instanceof Deadline && deadline instanceof Date).toBe(true);
    expect([deadline.left(), new Deadline(NOW + 5).left()]).toEqual([0, 5]);
  });
});
