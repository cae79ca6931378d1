//go:build cgo

// nbody - the motion of the Sun and the four giant planets in steps of 0.01 years, with distances
// in astronomical units, by a simple symplectic integrator.
//
//	parameter  steps, 0 or more
//	checksum   the energy of the system afterwards
//
// Based on the description in the Computer Language Benchmarks Game. Every language does the same
// operations in the same order, so the last bit agrees. A conversion to float64 keeps the compiler
// from fusing a multiplication with an addition, which rounds differently.
package main

import (
	"fmt"
	"math"
	"os"

	krun "krund/runners/go"
)

const (
	bodies    = 5
	pi        = float64(3.141592653589793)
	solarMass = float64(39.47841760435743) // 4 pi pi
	year      = float64(365.24)            // days: the velocities are given per day
	step      = 0.01
)

type body struct{ x, y, z, vx, vy, vz, mass float64 }

func planet(x, y, z, vx, vy, vz, mass float64) body {
	return body{x, y, z, vx * year, vy * year, vz * year, mass * solarMass}
}

func start() [bodies]body {
	return [bodies]body{
		{mass: solarMass}, // Sun
		planet( // Jupiter
			4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
			1.66007664274403694e-03, 7.69901118419740425e-03, -6.90460016972063023e-05,
			9.54791938424326609e-04),
		planet( // Saturn
			8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
			-2.76742510726411115e-03, 4.99852801234917238e-03, 2.30417297573763929e-05,
			2.85885980666130812e-04),
		planet( // Uranus
			1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
			2.96460137564761618e-03, 2.37847173959480950e-03, -2.96589568540237556e-05,
			4.36624404335156298e-05),
		planet( // Neptune
			1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
			2.68067772490389322e-03, 1.62824170038242295e-03, -9.51592254519715870e-05,
			5.15138902046611451e-05),
	}
}

// offsetMomentum sets the Sun's velocity so that the total momentum is zero.
func offsetMomentum(b *[bodies]body) {
	var px, py, pz float64
	for i := range b {
		px += float64(b[i].vx * b[i].mass)
		py += float64(b[i].vy * b[i].mass)
		pz += float64(b[i].vz * b[i].mass)
	}
	b[0].vx, b[0].vy, b[0].vz = -px/solarMass, -py/solarMass, -pz/solarMass
}

func advance(b *[bodies]body) {
	for i := range b {
		for j := i + 1; j < bodies; j++ {
			dx, dy, dz := b[i].x-b[j].x, b[i].y-b[j].y, b[i].z-b[j].z
			square := float64(dx*dx) + float64(dy*dy) + float64(dz*dz)
			force := step / float64(square*math.Sqrt(square))
			mi, mj := b[i].mass*force, b[j].mass*force
			b[i].vx -= float64(dx * mj)
			b[i].vy -= float64(dy * mj)
			b[i].vz -= float64(dz * mj)
			b[j].vx += float64(dx * mi)
			b[j].vy += float64(dy * mi)
			b[j].vz += float64(dz * mi)
		}
	}
	for i := range b {
		b[i].x += float64(step * b[i].vx)
		b[i].y += float64(step * b[i].vy)
		b[i].z += float64(step * b[i].vz)
	}
}

func energy(b *[bodies]body) float64 {
	e := 0.0
	for i := range b {
		speed := float64(b[i].vx*b[i].vx) + float64(b[i].vy*b[i].vy) + float64(b[i].vz*b[i].vz)
		e += float64(0.5 * b[i].mass * speed)
		for j := i + 1; j < bodies; j++ {
			dx, dy, dz := b[i].x-b[j].x, b[i].y-b[j].y, b[i].z-b[j].z
			square := float64(dx*dx) + float64(dy*dy) + float64(dz*dz)
			e -= b[i].mass * b[j].mass / math.Sqrt(square)
		}
	}
	return e
}

func checksum(n int) float64 {
	b := start()
	offsetMomentum(&b)
	for range n {
		advance(&b)
	}
	return energy(&b)
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	1000:   -0.16908760523462465,
	10000:  -0.16901644126444898,
	200000: -0.16908371256965279,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("nbody: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
