package scorers

import "bytes"

// cookiePrefix begins what Wants.Headers has of a cookie. No name of a header has a colon.
const cookiePrefix = "cookie:"

// Cookie registers one cookie and returns where its value will be, as that of a header. A request may carry a lot of cookies,
// and in several headers; only this one is kept.
func (u *Setup) Cookie(name string) HeaderID {
	return HeaderID(u.register("headers", &u.Wants.Headers, cookiePrefix+name, MaxHeaders))
}

// CookieName returns the name of the cookie that an entry of Wants.Headers is about; empty if it is a header.
func CookieName(wanted string) string {
	if len(wanted) < len(cookiePrefix) || wanted[:len(cookiePrefix)] != cookiePrefix {
		return ""
	}
	return wanted[len(cookiePrefix):]
}

// Cookie returns the value of the first cookie called name in a cookie header, without the blanks around it; nil if there is
// none.
func Cookie(header []byte, name string) []byte {
	for len(header) > 0 {
		var pair []byte
		if i := bytes.IndexByte(header, ';'); i >= 0 {
			pair, header = header[:i], header[i+1:]
		} else {
			pair, header = header, nil
		}
		pair = Trim(pair)
		if i := bytes.IndexByte(pair, '='); i >= 0 && string(pair[:i]) == name {
			return Trim(pair[i+1:])
		}
	}
	return nil
}
