import fc from "fast-check";
import { expect, it } from "vitest";
import { PostingLists } from "../../../catalog/search/inverted-index.ts";

const LISTS = 3_000;
const SLOTS = 40;
const list = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: LISTS - 1 }));
const additions = fc.array(fc.tuple(list, fc.integer({ min: 1, max: 30 })), { maxLength: 30 });
const steps = fc.array(
  fc.oneof(
    fc.record({ add: additions }),
    fc.record({ gone: fc.array(fc.integer({ min: 0, max: SLOTS - 1 }), { maxLength: SLOTS }) }),
  ),
  { maxLength: 20 },
);

it("keeps in each list just what was added and not removed", () => {
  fc.assert(
    fc.property(steps, (changes) => {
      const lists = new PostingLists();
      const expected = new Map<number, [slot: number, impact: number][]>();
      let added = 0;
      for (const change of changes) {
        if ("add" in change) {
          for (const [number, times] of change.add) {
            for (let time = 0; time < times; time++) {
              const posting: [number, number] = [added % SLOTS, 1 / ++added];
              const before = expected.get(number) ?? [];
              expect(lists.add(number, ...posting)).toBe(before.length === 0);
              expected.set(number, [...before, posting]);
            }
          }
        } else {
          const isGone = Uint8Array.from({ length: SLOTS }, (_, slot) =>
            change.gone.includes(slot) ? 1 : 0,
          );
          for (const [number, postings] of expected) {
            const kept = postings.filter(([slot]) => isGone[slot] === 0);
            expect(lists.remove(number, isGone)).toBe(kept.length === 0);
            expected.set(number, kept);
          }
        }
      }
      for (const [number, postings] of expected) {
        const { slots, impacts } = lists.get(number) ?? { slots: [], impacts: [] };
        expect([...slots].map((slot, index) => [slot, impacts[index]])).toEqual(postings);
      }
    }),
  );
});

it("has no posting in a list that was never added to", () => {
  const lists = new PostingLists();
  expect(lists.get(0)).toBeUndefined();
  expect(lists.get(1_000_000)).toBeUndefined();
});
