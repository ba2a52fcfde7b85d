import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CurrentImage } from "../../../sandbox/pool/warm-pool.ts";

describe("the image that a name refers to", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** A look-up that answers when it is told to. */
  function lookUps() {
    const waiting: { resolve: (digest: string) => void; reject: (error: Error) => void }[] = [];
    const image = new CurrentImage(
      () => new Promise<string>((resolve, reject) => void waiting.push({ resolve, reject })),
    );
    return { image, waiting };
  }

  it("is looked up once a second, and once for all who ask meanwhile", async () => {
    const { image, waiting } = lookUps();
    const asked = [image.look(), image.look()];
    expect(waiting).toHaveLength(1);
    waiting[0]?.resolve("one");
    expect(await Promise.all(asked)).toEqual(["one", "one"]);
    vi.advanceTimersByTime(999);
    expect(await image.look()).toBe("one");
    expect(waiting).toHaveLength(1);
    vi.advanceTimersByTime(1);
    const again = image.look();
    expect(waiting).toHaveLength(2);
    waiting[1]?.resolve("two");
    expect(await again).toBe("two");
    expect([image.is("one"), image.is("two")]).toEqual([false, true]);
  });

  it("is as old as the look-up that found it, not as its answer", async () => {
    const { image, waiting } = lookUps();
    const slow = image.look();
    vi.advanceTimersByTime(900);
    waiting[0]?.resolve("one");
    await slow;
    vi.advanceTimersByTime(100);
    void image.look();
    expect(waiting).toHaveLength(2);
  });

  it("is what the look-up found that began last, whichever answers last", async () => {
    const { image, waiting } = lookUps();
    vi.advanceTimersByTime(10);
    const slow = image.look();
    image.see("newer", 20);
    waiting[0]?.resolve("older");
    expect(await slow).toBe("newer");
    expect(image.is("newer")).toBe(true);
    image.see("older", 19);
    expect(image.is("newer")).toBe(true);
    image.see("as new", 20);
    expect(image.is("as new")).toBe(true);
  });

  it("is looked up again after a look-up that failed", async () => {
    const { image, waiting } = lookUps();
    const failing = image.look();
    waiting[0]?.reject(new Error("no engine"));
    await expect(failing).rejects.toThrow("no engine");
    const again = image.look();
    waiting[1]?.resolve("one");
    expect(await again).toBe("one");
  });
});
