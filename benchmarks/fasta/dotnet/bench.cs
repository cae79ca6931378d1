using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>
/// fasta - write DNA sequences as lines of text: one by repeating a given piece,
/// two by choosing letters with a weighted random number.
///
///   parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
///   checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
///              the line's character codes, modulo 2 to the 32
///
/// Based on the description in the Computer Language Benchmarks Game. Nothing is
/// printed, and each iteration starts from the same random seed.
/// </summary>
public static class Fasta {
    const int Width = 60;
    const int Most = 10000000;
    const string Alu =
        "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG" +
        "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA" +
        "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT" +
        "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA" +
        "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG" +
        "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC" +
        "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA";

    const string IubLetters = "acgtBDHKMNRSVWY";
    static readonly double[] iubShares = {
        0.27, 0.12, 0.12, 0.27, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02,
    };
    const string HomoSapiensLetters = "acgt";
    static readonly double[] homoSapiensShares = {
        0.3029549426680, 0.1979883004921, 0.1975473066391, 0.3015094502008,
    };

    /// <summary>The state of one iteration.</summary>
    sealed class Writer {
        readonly char[] line = new char[Width];
        int seed = 42;

        public uint Sum { get; private set; }

        /// <summary>Replaces printing.</summary>
        public void WriteLine(char[] text, int length) {
            uint codes = 0;
            for (int i = 0; i < length; i++) {
                codes += text[i];
            }
            Sum = unchecked(Sum * 31 + codes);
        }

        public void WriteLine(string text) {
            WriteLine(text.ToCharArray(), text.Length);
        }

        public void Repeat(string piece, int letters) {
            int at = 0;
            while (letters > 0) {
                int length = Math.Min(letters, Width);
                for (int i = 0; i < length; i++) {
                    line[i] = piece[at];
                    at = at + 1 == piece.Length ? 0 : at + 1;
                }
                WriteLine(line, length);
                letters -= length;
            }
        }

        /// <summary>In [0, 1), by a linear congruential generator that is the same everywhere.</summary>
        double Random() {
            seed = (seed * 3877 + 29573) % 139968;
            return seed / 139968.0;
        }

        /// <summary>Chooses the first letter whose cumulative share exceeds a random number.</summary>
        char Choose(string from, double[] below) {
            double r = Random();
            int i = 0;
            while (i < below.Length - 1 && r >= below[i]) {
                i++;
            }
            return from[i];
        }

        public void RandomLetters(string from, double[] shares, int letters) {
            double[] below = new double[shares.Length];
            double total = 0;
            for (int i = 0; i < shares.Length; i++) {
                total += shares[i];
                below[i] = total;
            }
            while (letters > 0) {
                int length = Math.Min(letters, Width);
                for (int i = 0; i < length; i++) {
                    line[i] = Choose(from, below);
                }
                WriteLine(line, length);
                letters -= length;
            }
        }
    }

    public static double Checksum(int n) {
        if (n < 0 || n > Most) {
            Refuse("parameter " + n + " is not within 0 to " + Most);
        }
        Writer w = new Writer();
        w.WriteLine(">ONE Homo sapiens alu");
        w.Repeat(Alu, 2 * n);
        w.WriteLine(">TWO IUB ambiguity codes");
        w.RandomLetters(IubLetters, iubShares, 3 * n);
        w.WriteLine(">THREE Homo sapiens frequency");
        w.RandomLetters(HomoSapiensLetters, homoSapiensShares, 5 * n);
        return w.Sum;
    }

    /// <summary>Known checksums; README.md lists their origin.</summary>
    static readonly Dictionary<int, double> known = new Dictionary<int, double> {
        { 1000, 3225012143 },
        { 30000, 4059268609 },
        { 100000, 3438851865 },
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
        Console.WriteLine("fasta: " + text);
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
