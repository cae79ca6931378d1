using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>
/// fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1
/// elements, k being the first, until that is 0, and count the reversals.
///
///   parameter  n, 1 to 12
///   checksum   1000 times the sum of the counts with alternating sign, plus the
///              largest count
///
/// Based on the description in the Computer Language Benchmarks Game; its order of
/// the permutations decides the signs.
/// </summary>
public static class FannkuchRedux {
    const int Most = 12;

    /// <summary>Counts the reversals of a permutation without modifying it.</summary>
    static int Flips(int[] permutation, int[] p) {
        int count = 0;
        Array.Copy(permutation, p, p.Length);
        for (int k = p[0]; k != 0; k = p[0]) {
            for (int i = 0, j = k; i < j; i++, j--) {
                int t = p[i];
                p[i] = p[j];
                p[j] = t;
            }
            count++;
        }
        return count;
    }

    /// <summary>
    /// Makes the next permutation: the first r+1 elements rotate to the left, r starting
    /// at 1 and growing each time that r's turns are used up. Returns false after the
    /// last one.
    /// </summary>
    static bool Next(int[] permutation, int[] turns) {
        for (int r = 1; r < permutation.Length; r++) {
            int head = permutation[0];
            Array.Copy(permutation, 1, permutation, 0, r);
            permutation[r] = head;
            if (--turns[r] > 0) {
                return true;
            }
            turns[r] = r + 1;
        }
        return false;
    }

    public static double Checksum(int n) {
        if (n < 1 || n > Most) {
            Refuse("parameter " + n + " is not within 1 to " + Most);
        }
        int[] permutation = new int[n], turns = new int[n], copy = new int[n];
        for (int i = 0; i < n; i++) {
            permutation[i] = i;
            turns[i] = i + 1;
        }
        long sum = 0;
        int most = 0, sign = 1;
        do {
            int count = Flips(permutation, copy);
            sum += sign * count;
            sign = -sign;
            most = Math.Max(most, count);
        } while (Next(permutation, turns));
        return sum * 1000 + most;
    }

    /// <summary>Known checksums; README.md lists their origin.</summary>
    static readonly Dictionary<int, double> known = new Dictionary<int, double> {
        { 7, 228016 },
        { 8, 1616022 },
        { 9, 8629030 },
        { 10, 73196038 },
    };

    /// <summary>Checksums of the first iteration.</summary>
    static readonly Dictionary<int, double> first = new Dictionary<int, double>();

    /// <summary>Returns the expected checksum for n: the known one, else that of the first iteration.</summary>
    static double Expected(int n, double got) {
        double sum;
        if (known.TryGetValue(n, out sum)) {
            return sum;
        }
        if (!first.ContainsKey(n)) {
            first[n] = got;
        }
        return first[n];
    }

    static void Refuse(string text) {
        Console.WriteLine("fannkuch_redux: " + text);
        Environment.Exit(1);
    }

    static string Digits(double x) {
        return x.ToString("G17", CultureInfo.InvariantCulture);
    }

    public static void run_iter(int n) {
        double got = Checksum(n);
        double want = Expected(n, got);
        if (got != want) {
            Refuse("parameter " + n + ": checksum " + Digits(got) + ", expected " + Digits(want));
        }
    }
}
