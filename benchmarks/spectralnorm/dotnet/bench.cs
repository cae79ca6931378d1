using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>
/// spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
/// truncated to n by n, by the power method with ten rounds.
///
///   parameter  n, 1 to 10000
///   checksum   the norm
///
/// Based on the description in the Computer Language Benchmarks Game. Every language
/// does the same operations in the same order, so the last bit agrees.
/// </summary>
public static class SpectralNorm {
    const int Most = 10000;

    /// <summary>Returns the element in row i and column j: 1 / its index along the diagonals.</summary>
    static double Element(int i, int j) {
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
    }

    /// <summary>Computes output = A input.</summary>
    static void Times(double[] input, double[] output) {
        for (int i = 0; i < output.Length; i++) {
            double sum = 0;
            for (int j = 0; j < input.Length; j++) {
                sum += Element(i, j) * input[j];
            }
            output[i] = sum;
        }
    }

    /// <summary>Computes output = A' input.</summary>
    static void Transposed(double[] input, double[] output) {
        for (int i = 0; i < output.Length; i++) {
            double sum = 0;
            for (int j = 0; j < input.Length; j++) {
                sum += Element(j, i) * input[j];
            }
            output[i] = sum;
        }
    }

    public static double Checksum(int n) {
        if (n < 1 || n > Most) {
            Refuse("parameter " + n + " is not within 1 to " + Most);
        }
        double[] u = new double[n], v = new double[n], w = new double[n];
        for (int i = 0; i < n; i++) {
            u[i] = 1;
        }
        for (int round = 0; round < 10; round++) {
            Times(u, w);
            Transposed(w, v);
            Times(v, w);
            Transposed(w, u);
        }
        double uv = 0, vv = 0;
        for (int i = 0; i < n; i++) {
            uv += u[i] * v[i];
            vv += v[i] * v[i];
        }
        return Math.Sqrt(uv / vv);
    }

    /// <summary>Known checksums; README.md lists their origin.</summary>
    static readonly Dictionary<int, double> known = new Dictionary<int, double> {
        { 100, 1.2742199912349306 },
        { 500, 1.2742241159529055 },
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
        Console.WriteLine("spectralnorm: " + text);
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
