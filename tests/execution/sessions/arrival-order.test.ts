import { expect, test } from "vitest";
import { ArrivalOrder } from "../../../execution/sessions/arrival-order.ts";

const HOLDER = { principal: "local", source: "serve" } as const;

test("programs of a session pass in the order in which they came, whichever are given up before their turn", async () => {
  const order = new ArrivalOrder();
  const passed: number[] = [];
  const come = (number: number) => {
    const arrival = order.note({ context: HOLDER, session: "a" });
    const entered = arrival?.isNext.then(() => {
      passed.push(number);
      arrival.pass();
    });
    return { arrival, entered };
  };
  const held = order.note({ context: HOLDER, session: "a" });
  const programs = [1, 2, 3].map(come);
  // The second one fails before it is its turn. The third one still comes after the first.
  programs[1]?.arrival?.pass();
  await Promise.resolve();
  expect(passed).toEqual([]);
  held?.pass();
  await Promise.all(programs.map(({ entered }) => entered));
  expect(passed).toEqual([1, 2, 3]);
});

test("programs of other sessions, other principals and no session are not waited for", async () => {
  const order = new ArrivalOrder();
  expect(order.note({ context: HOLDER })).toBeUndefined();
  order.note({ context: HOLDER, session: "a" });
  await order.note({ context: HOLDER, session: "b" })?.isNext;
  await order.note({ context: { ...HOLDER, principal: "ada" }, session: "a" })?.isNext;
});
