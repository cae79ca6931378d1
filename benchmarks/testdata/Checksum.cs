using System;
using System.Globalization;
using System.Reflection;

/// <summary>Checksum.exe FILE N... - what testdata/checksum.c does, for an assembly.</summary>
static class ChecksumTool {
    static void Main(string[] args) {
        foreach (Type type in Assembly.LoadFrom(args[0]).GetTypes()) {
            MethodInfo checksum = type.GetMethod("Checksum");
            MethodInfo run_iter = type.GetMethod("run_iter");
            if (checksum == null || run_iter == null) {
                continue;
            }
            for (int i = 1; i < args.Length; i++) {
                object[] n = { int.Parse(args[i]) };
                Console.WriteLine(((double)checksum.Invoke(null, n)).ToString("G17", CultureInfo.InvariantCulture));
                run_iter.Invoke(null, n);
                run_iter.Invoke(null, n);
            }
        }
    }
}
