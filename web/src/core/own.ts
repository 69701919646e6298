// What an object has under a name itself: cards and nodes may be called `constructor` or `__proto__`.
export const own = <T>(of: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;
