// Package display prepares text for people: it bounds texts from outside (Clip), replaces
// characters that drive a terminal or deceive a reader (Plain), writes commands that can be pasted
// into a shell (ShellQuote), suggests the name that a user probably meant (Nearest), and holds the
// version that krund and krunctl print.
//
// Nothing here runs a command or judges a text. Start reading at Clip and Plain.
package display
